//go:build !js

package input

import "syscall"

// nonblock makes opening a named pipe return without a writer.
const nonblock = syscall.O_NONBLOCK
