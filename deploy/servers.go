package deploy

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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

	restarts = ": every replica is restarted again and again"
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
			i.warnIf(!i.hasCondition(s.Namespace, gate.ConditionType), "readiness", s.Ref, "its Pods have the readiness gate %s: no "+
				"replica is ready until another controller sets this condition", gate.ConditionType)
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
		i.errorIf(updates && m.SubPath+m.SubPathExpr != "", "sub-path", s.Process, "%s is mounted by subPath: it is never updated",
			m.MountPath)
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
			return other.Finding == f.Finding && other.at.String() == f.at.String()
		})
		if !known && (!proxied || f.ID != "readiness" && f.ID != "liveness") {
			f.Message = "the Pod that the API server would create differs from the template: " + f.Message
			i.found = append(i.found, f)
		}
	}
}

// listenAddress inspects whether the process listens on all addresses of its Pod.
func (i *inspection) listenAddress(s *install.Server) {
	const id = "listen-address"
	i.errorIf(s.Settings.Dev, id, s.Process,
		"with --dev it serves on its own machine only, with a certificate that no API server trusts")
	for _, flag := range []string{"listen", "ops-listen"} {
		l, ok := s.Listener(flag)
		ip, err := netip.ParseAddr(l.Host)
		why := "which nothing outside the container can reach"
		if l.Host != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
			why = "and each Pod has another address"
		}
		i.errorIf(ok && l.Host != "", id, s.Process, "--%s is on %s, %s: use --%s=:%d", flag, install.Printable(l.Host), why, flag,
			l.Port)
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
	i.errorIf(ok && grace < need, "grace-period", s.Ref, "terminationGracePeriodSeconds is %d, and the process may live %v after "+
		"SIGTERM: --drain-timeout=%v, --shutdown-timeout=%v and %v to flush telemetry", int(grace.Seconds()), need,
		s.Settings.DrainTimeout, s.Settings.ShutdownTimeout, install.ExitMargin)
	lc := s.Container.Lifecycle
	if lc != nil && lc.StopSignal != nil && *lc.StopSignal != corev1.SIGTERM && *lc.StopSignal != corev1.SIGINT {
		i.error("pre-stop", s.Process, "its stopSignal is %s, and the process drains only after SIGTERM", *lc.StopSignal)
	}
	switch {
	case lc == nil || lc.PreStop == nil:
	case lc.PreStop.Sleep == nil:
		i.error("pre-stop", s.Process, "it has a preStop hook of unknown duration")
	default:
		sleep := time.Duration(lc.PreStop.Sleep.Seconds) * time.Second
		i.errorIf(ok && grace >= need && grace < sleep+need, "pre-stop", s.Process, "after its preStop sleep of %v, %v are left of "+
			"terminationGracePeriodSeconds, and the process may live %v after SIGTERM", sleep, grace-sleep, need)
	}
}

// memory compares GOMEMLIMIT with the memory that the process always uses, and with the memory limit of the container or
// the lower limit of its Pod.
func (i *inspection) memory(s *install.Server) {
	const id = "memory-limit"
	of, at := "its memory limit", s.Process
	limit, limited := s.Container.Resources.Limits[corev1.ResourceMemory]
	if s.Pod.Resources != nil {
		if q, ok := s.Pod.Resources.Limits[corev1.ResourceMemory]; ok && (!limited || q.Cmp(limit) < 0) {
			limit, limited, of = q, true, "the memory limit of its Pod"
		}
	}
	byDefault, need := (&settings.Serve{}).Memory(), s.Settings.Memory()
	flags := s.Settings.Known("max-connections", "max-body-bytes") && need > byDefault
	i.warnIf(limited && flags && need > limit.Value(), id, at, "its --max-connections and --max-body-bytes need a memory limit "+
		"of %dMi, and it is %s", need>>20, &limit)
	for _, v := range s.Container.Env {
		if v.Name == "GOMEMLIMIT" && v.ValueFrom != nil && v.ValueFrom.ResourceFieldRef != nil && limited &&
			v.ValueFrom.ResourceFieldRef.Resource == "limits.memory" {
			i.error(id, at, "GOMEMLIMIT is %s, %s, and the process also uses memory that Go does not count", of, &limit)
			return
		}
	}
	value := s.Variable("GOMEMLIMIT", goUnlimited)
	bytes, ok := goBytes(value)
	switch {
	case known(value) != value: // not in the input
	case !ok:
		i.error(id, at, "GOMEMLIMIT is %q, with which the process exits immediately: use 400MiB", value)
	case 0 <= bytes && bytes < leastMemory:
		i.error(id, at, "GOMEMLIMIT is %s, and the process needs %d MiB for the connections of one API server", value,
			leastMemory>>20)
	case 0 <= bytes && bytes < leastMemory+policyMemory:
		i.warning(id, at, "GOMEMLIMIT is %s, and the process needs up to %d MiB while it checks a new policy", value,
			(leastMemory+policyMemory)>>20)
	case !limited:
	case bytes < 0:
		i.warning(id, at, "%s is %s, and GOMEMLIMIT, from which Go learns the limit, is not set", of, &limit)
	case bytes >= limit.Value():
		i.error(id, at, "%s, %s, is not above GOMEMLIMIT, %s", of, &limit, value)
	case bytes > limit.Value()-outsideGo:
		i.warning(id, at, "%s, %s, leaves less than 20 MiB above GOMEMLIMIT, %s, for memory that Go does not count", of, &limit,
			value)
	}
}

// goBytes parses a number of bytes as Go's runtime parses GOMEMLIMIT. It returns -1 for no limit. ok is false if the
// runtime would end the process.
func goBytes(s string) (bytes int64, ok bool) {
	if s == "" || s == goUnlimited {
		return -1, true
	}
	number, unit := strings.TrimSuffix(s, "B"), int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			number, unit = rest, int64(1)<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<63-1)/unit {
		return 0, false
	}
	return n * unit, true
}

// readiness inspects the readiness probe, which has to use HTTPS for /readyz on the port of --listen.
func (i *inspection) readiness(s *install.Server) {
	probe := s.Container.ReadinessProbe
	if probe == nil || probe.HTTPGet == nil {
		i.error("readiness", s.Process, "it has no readinessProbe by httpGet")
		return
	}
	problem := misdirected(s, probe.HTTPGet, "listen")
	i.errorIf(problem != "", "readiness", s.Process, "its readinessProbe %s", problem)
	i.errorIf(probe.HTTPGet.Path != "/readyz", "readiness", s.Process, "its readinessProbe uses the path %q, and /readyz reports "+
		"whether it is ready", probe.HTTPGet.Path)
}

// hasCondition reports whether a Pod in a namespace has a condition of a type.
func (i *inspection) hasCondition(namespace string, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(install.In[*corev1.Pod](i.Objects, namespace), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(cond corev1.PodCondition) bool { return cond.Type == t })
	})
}

// liveness inspects the liveness probe, which has to use HTTP for /livez on the port of --ops-listen, because it fails
// only when the process hangs. A startup probe has to use an address that Evergate serves, and a postStart hook must not
// run a command that the image does not contain. The kubelet kills the container if the hook fails.
func (i *inspection) liveness(s *install.Server) {
	const id = "liveness"
	switch probe := s.Container.LivenessProbe; {
	case probe == nil:
		i.error(id, s.Process, "it has no livenessProbe")
	case probe.HTTPGet == nil && unanswered(s, probe) != "":
		i.error(id, s.Process, "its livenessProbe %s"+restarts, unanswered(s, probe))
	case probe.HTTPGet == nil:
		i.error(id, s.Process, "its livenessProbe does not use httpGet: an open port does not show a hang")
	default:
		get, problem := probe.HTTPGet, misdirected(s, probe.HTTPGet, "ops-listen")
		i.errorIf(get.Path != "/livez", id, s.Process, "its livenessProbe uses the path %q, and /livez reports whether it hangs",
			get.Path)
		waits := problem != "" && s.Listens("listen") != 0 && misdirected(s, get, "listen") == ""
		i.warnIf(waits, id, s.Process, "its livenessProbe uses port %d, which is bound only when there is a certificate: use the "+
			"port of --ops-listen", s.Port(get.Port))
		i.errorIf(problem != "" && !waits, id, s.Process, "its livenessProbe %s"+restarts, problem)
	}
	if probe := s.Container.StartupProbe; probe != nil {
		problem := unanswered(s, probe)
		if probe.HTTPGet != nil {
			problem = misdirected(s, probe.HTTPGet, "ops-listen", "listen")
		}
		i.errorIf(problem != "", id, s.Process, "its startupProbe %s"+restarts, problem)
		if get := probe.HTTPGet; get != nil && get.Path != "/livez" && get.Path != "/readyz" {
			i.error(id, s.Process, "its startupProbe uses the path %q, and neither port answers it with 200: use /livez", get.Path)
		}
	}
	if lc := s.Container.Lifecycle; lc != nil && lc.PostStart != nil && lc.PostStart.Exec != nil {
		problem := missingCommand(lc.PostStart.Exec)
		i.errorIf(problem != "", id, s.Process, "its postStart hook %s"+restarts, problem)
	}
}

// misdirected returns the reason why none of the listeners of flags can answer a probe: another address, another port
// or another scheme. The reason is the end of a sentence that starts with the probe. It is empty if a listener can
// answer or is not known.
func misdirected(s *install.Server, get *corev1.HTTPGetAction, flags ...string) string {
	port, https := s.Port(get.Port), get.Scheme == corev1.URISchemeHTTPS
	scheme := map[bool]corev1.URIScheme{false: corev1.URISchemeHTTP, true: corev1.URISchemeHTTPS}
	switch {
	case get.Host != "":
		return fmt.Sprintf("uses the host %q instead of the Pod", get.Host)
	case get.Port.Type == intstr.String && port == 0:
		return fmt.Sprintf("uses the port %q, which the container does not have", get.Port.StrVal)
	}
	var served []string
	for _, flag := range flags {
		l, ok := s.Listener(flag)
		switch serves := flag == "listen"; {
		case !ok || l.Port == port && serves == https:
			return ""
		case l.Port == port:
			return fmt.Sprintf("uses port %d with %s, and --%s serves %s there", port, scheme[https], flag, scheme[serves])
		}
		served = append(served, fmt.Sprintf("--%s is on %d", flag, l.Port))
	}
	return fmt.Sprintf("uses port %d, and %s", port, strings.Join(served, ", and "))
}

// unanswered returns the reason why evergate serve never answers a probe that does not use HTTP, or "" if it may
// answer. The reason is the end of a sentence that starts with the probe.
func unanswered(s *install.Server, probe *corev1.Probe) string {
	switch {
	case probe.Exec != nil:
		return missingCommand(probe.Exec)
	case probe.GRPC != nil:
		return "uses gRPC, which evergate serve does not serve"
	case probe.TCPSocket != nil:
		get := corev1.HTTPGetAction{Host: probe.TCPSocket.Host, Port: probe.TCPSocket.Port, Scheme: corev1.URISchemeHTTPS}
		if misdirected(s, &get, "listen") == "" {
			return ""
		}
		get.Scheme = corev1.URISchemeHTTP
		return misdirected(s, &get, "ops-listen", "listen")
	}
	return ""
}

// missingCommand returns the reason why a command fails in the image, which contains only evergate, or "" if the
// command is evergate.
func missingCommand(exec *corev1.ExecAction) string {
	if len(exec.Command) > 0 && path.Base(exec.Command[0]) == "evergate" {
		return ""
	}
	return fmt.Sprintf("runs the command %q, and the image contains only evergate", text.Truncate(
		strings.Join(exec.Command, " "), text.Short))
}
