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

// Cgroup is a memory limit as a container has it. It counts what the kernel holds for sockets too, which no figure of
// the process itself does.
type Cgroup struct {
	dir string
	v1  bool
}

// ErrNoCgroup says that this machine, or this user, has no limits of memory to give.
var ErrNoCgroup = errors.New("memory cannot be limited here")

// Confine puts the process into a cgroup of its own with a limit of bytes. Remove takes it away.
func (p *Process) Confine(limit int64) (*Cgroup, error) {
	c := &Cgroup{dir: fmt.Sprintf("/sys/fs/cgroup/evergate-%d", p.PID())}
	settings := map[string]int64{"memory.max": limit}
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err == nil {
		c.dir, c.v1 = fmt.Sprintf("/sys/fs/cgroup/memory/evergate-%d", p.PID()), true
		// The second is beside the first there, and counted only where it is limited.
		settings = map[string]int64{"memory.limit_in_bytes": limit, "memory.kmem.tcp.limit_in_bytes": limit}
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	settings["cgroup.procs"] = int64(p.PID())
	for _, name := range []string{"memory.max", "memory.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes",
		"cgroup.procs"} {
		value, ok := settings[name]
		if !ok {
			continue
		}
		if err := os.WriteFile(filepath.Join(c.dir, name), strconv.AppendInt(nil, value, 10), 0o600); err != nil {
			_ = os.Remove(c.dir)
			return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
		}
	}
	return c, nil
}

// Sockets returns the most memory that the kernel has held for sockets, where that is counted apart.
func (c *Cgroup) Sockets() (int64, error) {
	if !c.v1 {
		return 0, nil
	}
	return c.read("memory.kmem.tcp.max_usage_in_bytes")
}

// Peak returns the most memory that was used, with that of sockets.
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

// Remove takes the cgroup away when its process has ended.
func (c *Cgroup) Remove() error {
	if err := os.Remove(c.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
