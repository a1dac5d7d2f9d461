package deploy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/internal/text"
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

// servers inspects the Pods of each Deployment, first as the manifest describes them, then as admission changes them.
func (i *inspection) servers() {
	for _, s := range i.Servers {
		run := i.dryRun(s)
		i.admission(s, run)
		i.meshes(s, run)
		i.listenAddress(s)
		i.pod(s)
		for _, gate := range s.Pod.ReadinessGates {
			if !i.hasCondition(s.Namespace, gate.ConditionType) {
				i.warning("readiness", s.Ref, "its Pods have the readiness gate %s: no replica is ready until another controller "+
					"sets this condition", gate.ConditionType)
			}
		}
		if run.Pod != nil {
			i.changed(s, run.Pod)
		}
	}
}

// pod inspects the fields of a Pod that admission may change.
func (i *inspection) pod(s *install.Server) {
	i.flags(s)
	i.drain(s)
	i.readiness(s)
	i.liveness(s)
	i.memory(s)
	for _, m := range s.Container.VolumeMounts {
		updates := slices.ContainsFunc(s.Pod.Volumes, func(v corev1.Volume) bool {
			return v.Name == m.Name && (v.Secret != nil || v.ConfigMap != nil || v.Projected != nil)
		})
		if updates && m.SubPath+m.SubPathExpr != "" {
			i.error("sub-path", s.Process, "%s is mounted by subPath: it is never updated", m.MountPath)
		}
	}
}

// changed inspects the Pod that the API server would create, and adds the findings that are not about the template too.
func (i *inspection) changed(s *install.Server, pod *corev1.Pod) {
	admitted := i.WithPod(s, &pod.Spec)
	if admitted == nil {
		return
	}
	proxied := len(added(s, pod)) > 0 // a proxy answers probes in place of the container: see meshes
	again := &inspection{Install: i.Install, Options: i.Options, kinds: i.kinds}
	again.pod(admitted)
	for _, f := range again.found {
		known := slices.ContainsFunc(i.found, func(other found) bool {
			return other.ID == f.ID && other.Message == f.Message && other.at.String() == f.at.String()
		})
		if !known && (!proxied || f.ID != "readiness" && f.ID != "liveness") {
			f.Message = "the Pod that the API server would create differs from the template: " + f.Message
			i.found = append(i.found, f)
		}
	}
}

// listenAddress inspects whether the process listens on all addresses of its Pod.
func (i *inspection) listenAddress(s *install.Server) {
	if s.Settings.Dev {
		i.error("listen-address", s.Process, "with --dev it serves on its own machine only, with a certificate that no API "+
			"server trusts")
		return
	}
	for _, flag := range []string{"listen", "ops-listen"} {
		l, ok := s.Listener(flag)
		switch {
		case !ok || l.Host == "":
		case loopback(l.Host):
			i.error("listen-address", s.Process, "--%s is on %s, which nothing outside the container can reach: use --%s=:%d", flag,
				install.Printable(l.Host), flag, l.Port)
		default:
			i.error("listen-address", s.Process, "--%s is on %s, and each Pod has another address: use --%s=:%d", flag,
				install.Printable(l.Host), flag, l.Port)
		}
	}
}

// flags inspects whether evergate serve starts with the arguments and variables of its container. They are parsed by the
// code of evergate serve, so a finding contains the same error. Values that are not in the input are not checked.
func (i *inspection) flags(s *install.Server) {
	problems, ignored := s.Environment()
	for _, problem := range problems {
		i.error("serve-flags", s.Process, "%s: the container is not started", problem)
	}
	const most = 500 // bytes: the error contains one or two values of the manifest
	for _, err := range s.Rejected {
		i.error("serve-flags", s.Process, "%s", text.Printable(strings.ReplaceAll(err.Error(), settings.Unknown, "…"), most))
	}
	for _, err := range ignored {
		i.warning("serve-flags", s.Process, "%s", text.Printable(err.Error(), most))
	}
}

// known returns a value, or "" if a part of it is not in the input.
func known(value string) string {
	if strings.Contains(value, settings.Unknown) {
		return ""
	}
	return strings.TrimSpace(value)
}

// drain inspects whether the kubelet lets the process drain before it kills it. The grace period includes the time of a
// preStop hook. The duration of a command or a request is not known, and the image does not have a shell.
func (i *inspection) drain(s *install.Server) {
	grace := corev1.DefaultTerminationGracePeriodSeconds * time.Second
	if seconds := s.Pod.TerminationGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	need, ok := s.Lifetime()
	if ok && grace < need {
		i.error("grace-period", s.Ref, "terminationGracePeriodSeconds is %d, and the process may live %v after SIGTERM: "+
			"--drain-timeout=%v, --shutdown-timeout=%v and %v to flush telemetry", int(grace.Seconds()), need,
			s.Settings.DrainTimeout, s.Settings.ShutdownTimeout, install.ExitMargin)
	}
	lc := s.Container.Lifecycle
	if lc != nil && lc.StopSignal != nil && *lc.StopSignal != corev1.SIGTERM && *lc.StopSignal != corev1.SIGINT {
		i.error("pre-stop", s.Process, "its stopSignal is %s, and the process drains only after SIGTERM", *lc.StopSignal)
	}
	if lc == nil || lc.PreStop == nil {
		return
	}
	if lc.PreStop.Sleep == nil {
		i.error("pre-stop", s.Process, "it has a preStop hook of unknown duration")
		return
	}
	sleep := time.Duration(lc.PreStop.Sleep.Seconds) * time.Second
	if ok && grace >= need && grace < sleep+need {
		i.error("pre-stop", s.Process, "after its preStop sleep of %v, %v are left of terminationGracePeriodSeconds, and the "+
			"process may live %v after SIGTERM", sleep, grace-sleep, need)
	}
}

// memory compares GOMEMLIMIT with the memory that the process always uses, and with the memory limit of the container or
// the lower limit of its Pod.
func (i *inspection) memory(s *install.Server) {
	of, limit := "its memory limit", quantity(s.Container.Resources.Limits)
	if s.Pod.Resources != nil {
		if q := quantity(s.Pod.Resources.Limits); q != nil && (limit == nil || q.Cmp(*limit) < 0) {
			limit, of = q, "the memory limit of its Pod"
		}
	}
	byDefault, need := (&settings.Serve{}).Memory(), s.Settings.Memory()
	if limit != nil && need > byDefault && need > limit.Value() && s.Settings.Known("max-connections", "max-body-bytes") {
		i.warning("memory-limit", s.Process, "its --max-connections and --max-body-bytes need a memory limit of %dMi, and it is "+
			"%s", need>>20, limit.String())
	}
	for _, v := range s.Container.Env {
		if v.Name == "GOMEMLIMIT" && v.ValueFrom != nil && v.ValueFrom.ResourceFieldRef != nil && limit != nil &&
			v.ValueFrom.ResourceFieldRef.Resource == "limits.memory" {
			i.error("memory-limit", s.Process, "GOMEMLIMIT is %s, %s, and the process also uses memory that Go does not count", of,
				limit.String())
			return
		}
	}
	value := s.Variable("GOMEMLIMIT", goUnlimited)
	if strings.Contains(value, settings.Unknown) {
		return
	}
	bytes, ok := goBytes(value)
	switch {
	case !ok:
		i.error("memory-limit", s.Process, "GOMEMLIMIT is %q, with which the process exits immediately: use 400MiB", value)
	case 0 <= bytes && bytes < leastMemory:
		i.error("memory-limit", s.Process, "GOMEMLIMIT is %s, and the process needs %d MiB for the connections of one API server",
			value, leastMemory>>20)
	case 0 <= bytes && bytes < leastMemory+policyMemory:
		i.warning("memory-limit", s.Process, "GOMEMLIMIT is %s, and the process needs up to %d MiB while it checks a new policy",
			value, (leastMemory+policyMemory)>>20)
	case limit == nil:
	case bytes < 0:
		i.warning("memory-limit", s.Process, "%s is %s, and GOMEMLIMIT, from which Go learns the limit, is not set", of,
			limit.String())
	case bytes >= limit.Value():
		i.error("memory-limit", s.Process, "%s, %s, is not above GOMEMLIMIT, %s", of, limit.String(), value)
	case bytes > limit.Value()-outsideGo:
		i.warning("memory-limit", s.Process, "%s, %s, leaves less than 20 MiB above GOMEMLIMIT, %s, for memory that Go does not "+
			"count", of, limit.String(), value)
	}
}

// quantity returns the memory in a list of resources, or nil.
func quantity(list corev1.ResourceList) *resource.Quantity {
	if q, ok := list[corev1.ResourceMemory]; ok {
		return &q
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
