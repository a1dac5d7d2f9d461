package deploy

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// flags are those of evergate serve that matter here, as a container sets them: by its arguments, else by its
// environment, else by default.
type flags map[string]string

// ServeDefaults returns the defaults of those flags of evergate serve that the checks look at.
func ServeDefaults() map[string]string {
	return map[string]string{
		"listen":           ":10250",
		"ops-listen":       ":8080",
		"drain-delay":      "10s",
		"drain-timeout":    "30s",
		"shutdown-timeout": "15s",
	}
}

// exitMargin is how long a process may live after the drain and the shutdown: telemetry is flushed.
const exitMargin = 5 * time.Second

func newFlags(c *corev1.Container) flags {
	f := flags(ServeDefaults())
	var expand []string
	for _, e := range c.Env {
		if name, ok := strings.CutPrefix(e.Name, "EVERGATE_"); ok && e.Value != "" {
			f[strings.ToLower(strings.ReplaceAll(name, "_", "-"))] = e.Value
		}
		if e.ValueFrom == nil {
			expand = append(expand, "$("+e.Name+")", e.Value) // as kubelet does
		}
	}
	words := slices.Concat(c.Command, c.Args)
	for i, word := range words {
		flag, ok := strings.CutPrefix(word, "--")
		if !ok {
			continue
		}
		name, value, hasValue := strings.Cut(flag, "=")
		if !hasValue && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			value = words[i+1]
		}
		f[name] = strings.NewReplacer(expand...).Replace(value)
	}
	return f
}

// get returns the value of a flag; empty when it is neither set nor has a default.
func (f flags) get(name string) string { return f[name] }

// duration returns the value of a flag that is one.
func (f flags) duration(name string) (time.Duration, error) {
	d, err := time.ParseDuration(f[name])
	if err != nil {
		return 0, fmt.Errorf("--%s is %q, which is not a duration such as 30s", name, f[name])
	}
	return d, nil
}

// port returns the port of a flag that is an address; 0 when it has none.
func (f flags) port(name string) int32 {
	_, port, err := net.SplitHostPort(f[name])
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(port, 10, 16) // 0 is no port either
	return int32(n)
}

// lifetime returns how long a process may live after SIGTERM. The drain is counted from SIGTERM, its delay included.
func (f flags) lifetime() (time.Duration, error) {
	drain, err := f.duration("drain-timeout")
	if err != nil {
		return 0, err
	}
	shutdown, err := f.duration("shutdown-timeout")
	if err != nil {
		return 0, err
	}
	return drain + shutdown + exitMargin, nil
}
