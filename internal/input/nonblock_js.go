package input

// nonblock is 0, because a browser has no files and no named pipes.
const nonblock = 0
