package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cgroup is a limit like a container's. A memory limit includes the kernel's memory for sockets, which the memory of
// the process itself does not.
type Cgroup struct {
	dir string
	v1  bool
}

// ErrNoCgroup means that resources cannot be limited on this machine or by this user.
var ErrNoCgroup = errors.New("resources cannot be limited here")

// setting is the content of a file of a cgroup.
type setting struct{ file, value string }

// Confine moves the process into a new cgroup with a limit of bytes. Remove removes the cgroup.
func (p *Process) Confine(limit int64) (*Cgroup, error) {
	value := strconv.FormatInt(limit, 10)
	if hierarchy, ok := v1("memory"); ok {
		// In version 1, the second limit is separate from the first, and its memory is counted only if it is limited.
		return p.move(&Cgroup{hierarchy, true}, setting{"memory.limit_in_bytes", value},
			setting{"memory.kmem.tcp.limit_in_bytes", value})
	}
	return p.move(&Cgroup{hierarchies, false}, setting{"memory.max", value})
}

// hierarchies is the mount of version 2, and the parent directory of the mounts of version 1.
const hierarchies = "/sys/fs/cgroup"

// v1 returns the mount of a controller, if the machine has version 1.
func v1(controller string) (mount string, ok bool) {
	mount = filepath.Join(hierarchies, controller)
	_, err := os.Stat(mount)
	return mount, err == nil
}

// move moves the process into a new cgroup in the directory of c, and sets the directory to the new one.
func (p *Process) move(c *Cgroup, settings ...setting) (*Cgroup, error) {
	c.dir = filepath.Join(c.dir, fmt.Sprintf("evergate-%d", p.PID()))
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	for _, s := range append(settings, setting{"cgroup.procs", strconv.Itoa(p.PID())}) {
		if err := os.WriteFile(filepath.Join(c.dir, s.file), []byte(s.value), 0o600); err != nil {
			_ = os.Remove(c.dir)
			return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
		}
	}
	return c, nil
}

// Sockets returns the peak memory of sockets in the kernel. It returns 0 if it is not counted separately.
func (c *Cgroup) Sockets() (int64, error) {
	if !c.v1 {
		return 0, nil
	}
	return c.read("memory.kmem.tcp.max_usage_in_bytes")
}

// Peak returns the peak memory, including sockets.
func (c *Cgroup) Peak() (int64, error) {
	if !c.v1 {
		return c.read("memory.peak")
	}
	used, err := c.read("memory.max_usage_in_bytes")
	if err != nil {
		return 0, err
	}
	sockets, err := c.Sockets()
	return used + sockets, err
}

func (c *Cgroup) read(name string) (int64, error) {
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		return 0, fmt.Errorf("read the memory of a cgroup: %w", err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}

// Remove removes the cgroup after its process has ended.
func (c *Cgroup) Remove() error {
	if err := os.Remove(c.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
