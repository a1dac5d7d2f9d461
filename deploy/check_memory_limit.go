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

	// leastMemory is the memory that GOMEMLIMIT counts in a replica of a small cluster: 6 MiB of the idle process, and
	// 350 connections of one API server with 50 KiB each. The policy webhook needs policyMemory more during the check of
	// a new policy (docs/runbooks/sizing.md).
	leastMemory  = 6<<20 + 350*50<<10
	policyMemory = 100 << 20

	// goUnlimited is GOMEMLIMIT if it is not set.
	goUnlimited = "off"
)

// memoryLimit checks that GOMEMLIMIT is a number that Go's runtime can parse, is more than the process always uses, and
// is at least 20 MiB below the memory limit of the container and of its Pod if there is a limit.
func memoryLimit() check {
	return check{
		id: "memory-limit", severity: Error,
		finds: "a memory limit that is below, equal to or only slightly above GOMEMLIMIT, a memory limit without a " +
			"GOMEMLIMIT, or a GOMEMLIMIT that Go cannot parse or that is below the memory of a replica in a small cluster. " +
			"A memory limit that is too small for --max-connections or --max-body-bytes is only a warning, and so is a " +
			"GOMEMLIMIT that is too small for the check of a large policy",
		why: "the kernel kills the process before Go collects garbage more often. Under load, all replicas are " +
			"killed together, and the replicas that start then receive the same connections and the same load. If " +
			"the unit in GOMEMLIMIT is not B, KiB, MiB, GiB or TiB, the process exits immediately. If the process needs " +
			"more memory than GOMEMLIMIT, Go uses up to half of the CPU time to collect garbage all the time",
		fix: "set GOMEMLIMIT to about four fifths of resources.limits.memory, as kustomize/base does (400MiB for " +
			"512Mi). If you raise the flags, raise both values too: see docs/runbooks/sizing.md",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			of := "its memory limit"
			limit := limited(s.container.Resources, c.defaultsIn(s.Namespace), corev1.ResourceMemory).limit
			if s.pod.Resources != nil {
				if q, ok := s.pod.Resources.Limits[corev1.ResourceMemory]; ok && (limit == nil || q.Cmp(*limit) < 0) {
					limit, of = &q, "the memory limit of its Pod"
				}
			}
			s.checkMemory(limit, of, r)
			s.checkBounds(limit, r)
		}),
	}
}

// checkMemory compares GOMEMLIMIT with the memory limit of the container, which may be the default of a LimitRange, or
// with the lower limit of its Pod. The name of the limit is of. Without a limit, limit is nil.
func (s *server) checkMemory(limit *resource.Quantity, of string, r *reporter) {
	value := s.env.value("GOMEMLIMIT", goUnlimited)
	if source := s.source("GOMEMLIMIT"); source != nil && source.Resource == "limits.memory" && limit != nil {
		r.error(s.process, "GOMEMLIMIT is %s, %s, and the process also uses memory that Go does not count", of,
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
	case 0 <= bytes && bytes < leastMemory:
		r.error(s.process, "GOMEMLIMIT is %s, and the process needs %d MiB for the connections of one API server", value,
			leastMemory>>20)
	case 0 <= bytes && bytes < leastMemory+policyMemory:
		r.warning(s.process, "GOMEMLIMIT is %s, and the process needs up to %d MiB while it checks a new policy", value,
			(leastMemory+policyMemory)>>20)
	case limit == nil:
	case bytes < 0:
		r.warning(s.process, "%s is %s, and GOMEMLIMIT, from which Go learns the limit, is not set",
			of, limit.String())
	case bytes >= limit.Value():
		r.error(s.process, "%s, %s, is not above GOMEMLIMIT, %s", of, limit.String(), value)
	case bytes > limit.Value()-outsideGo:
		r.warning(s.process, "%s, %s, leaves less than 20 MiB above GOMEMLIMIT, %s, for memory that Go does not count", of,
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
