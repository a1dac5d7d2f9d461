package deploy

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evergate/evergate/lifecycle/settings"
)

const (
	// outsideGo is the memory of a process that GOMEMLIMIT does not count: the pages of its binary, measured at 20
	// MiB. It does not include the kernel's buffers for its connections.
	outsideGo = 20 << 20

	// goUnlimited is GOMEMLIMIT if it is not set.
	goUnlimited = "off"
)

// memoryLimit checks that GOMEMLIMIT is a number that Go's runtime can parse, and at least 20 MiB below the memory
// limit of the container if there is a limit.
func memoryLimit() check {
	return check{
		id: "memory-limit", severity: Error,
		finds: "a memory limit that is below, equal to or only slightly above GOMEMLIMIT, a memory limit without a " +
			"GOMEMLIMIT, or a GOMEMLIMIT that Go cannot parse. A memory limit that is too small for --max-connections or " +
			"--max-body-bytes is only a warning",
		why: "the kernel kills the process before Go collects garbage more often. Under load, all replicas are " +
			"killed together, and the replicas that start then receive the same connections and the same load. If " +
			"the unit in GOMEMLIMIT is not B, KiB, MiB, GiB or TiB, the process exits immediately",
		fix: "set GOMEMLIMIT to about four fifths of resources.limits.memory, as kustomize/base does (400MiB for " +
			"512Mi). If you raise the flags, raise both values too: see docs/runbooks/sizing.md",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			limit := limited(s.container.Resources, c.defaultsIn(s.Namespace), corev1.ResourceMemory).limit
			s.checkMemory(limit, r)
			s.checkBounds(limit, r)
		}),
	}
}

// checkMemory compares GOMEMLIMIT with the memory limit of the container, which may be the default of a LimitRange.
// Without a limit, limit is nil.
func (s *server) checkMemory(limit *resource.Quantity, r *reporter) {
	value := s.env.value("GOMEMLIMIT", goUnlimited)
	if source := s.source("GOMEMLIMIT"); source != nil && source.Resource == "limits.memory" && limit != nil {
		r.error(s.process, "GOMEMLIMIT is its memory limit, %s, and the process also uses memory that Go does not count",
			limit.String())
		return
	}
	if strings.Contains(value, settings.Unknown) {
		return
	}
	bytes, ok := goBytes(value)
	switch {
	case !ok:
		r.error(s.process, "GOMEMLIMIT is %q, with which the process exits immediately: write 400MiB", value)
	case limit == nil:
	case bytes < 0:
		r.warning(s.process, "its memory limit is %s, and GOMEMLIMIT, from which Go learns the limit, is not set",
			limit.String())
	case bytes >= limit.Value():
		r.error(s.process, "its memory limit, %s, is not above GOMEMLIMIT, %s", limit.String(), value)
	case bytes > limit.Value()-outsideGo:
		r.warning(s.process, "its memory limit, %s, leaves less than 20 MiB above GOMEMLIMIT, %s, for memory that Go "+
			"does not count",
			limit.String(), value)
	}
}

// checkBounds reports flags that allow a process to use more memory than the limit.
func (s *server) checkBounds(limit *resource.Quantity, r *reporter) {
	byDefault := (&settings.Serve{}).Memory()
	if need := s.settings.Memory(); limit != nil && need > byDefault && need > limit.Value() &&
		s.settings.Known("max-connections", "max-body-bytes") {
		r.warning(s.process, "its --max-connections and --max-body-bytes need a memory limit of %dMi, and it is %s", need>>20,
			limit.String())
	}
}

// source returns the resource that a variable takes its value from, or nil.
func (s *server) source(variable string) *corev1.ResourceFieldSelector {
	for _, v := range s.container.Env {
		if v.Name == variable && v.ValueFrom != nil {
			return v.ValueFrom.ResourceFieldRef
		}
	}
	return nil
}

// goBytes parses a number of bytes as Go's runtime parses GOMEMLIMIT. It returns -1 for no limit. ok is false if the
// runtime would end the process.
func goBytes(s string) (bytes int64, ok bool) {
	if s == "" || s == goUnlimited {
		return -1, true
	}
	number, unit := s, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			number, unit = rest, int64(1)<<(10*(i+1))
		}
	}
	if unit == 1 {
		number = strings.TrimSuffix(s, "B")
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<63-1)/unit {
		return 0, false
	}
	return n * unit, true
}
