package deploy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

	goUnlimited = "off" // GOMEMLIMIT if it is not set

	exitMargin = 5 * time.Second // how long a process may live after the drain and the shutdown, to flush telemetry

	restarts = ": every replica is restarted again and again"
)

// servers inspects the Pods of each Deployment, first as the manifest describes them, then as admission changes them.
func (i *inspection) servers() {
	for _, s := range i.Servers {
		run := i.DryRuns[s.Name]
		i.admission(s, run)
		i.meshes(s, run)
		i.listenAddress(s)
		i.pod(s)
		if run.Pod != nil {
			i.changed(s, run.Pod)
		}
	}
}

// pod inspects the fields of a Pod that admission may change.
func (i *inspection) pod(s *install.Server) {
	i.flags(s)
	i.drain(s)
	i.probes(s)
	i.memory(s)
	for _, m := range s.Container.VolumeMounts {
		updates := slices.ContainsFunc(s.Pod.Volumes, func(v corev1.Volume) bool {
			return v.Name == m.Name && (v.Secret != nil || v.ConfigMap != nil || v.Projected != nil)
		})
		i.at("sub-path", s.Process).error(updates && m.SubPath+m.SubPathExpr != "",
			"%s is mounted by subPath: it is never updated", m.MountPath)
	}
}

// changed inspects the Pod that the API server would create, and adds the findings that are not about the template too.
func (i *inspection) changed(s *install.Server, pod *corev1.Pod) {
	admitted := i.Server(s.Deployment, &pod.Spec)
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
	f := i.at("listen-address", s.Process)
	f.error(s.Settings.Dev, "with --dev it serves on its own machine only, with a certificate that no API server trusts")
	for _, flag := range []string{"listen", "ops-listen"} {
		host, port := s.Listener(flag)
		f.error(port != 0 && host != "", "--%s is on %s and not on all addresses of the Pod: use --%s=:%d", flag, host, flag,
			port)
	}
}

// flags inspects whether evergate serve starts with the arguments and variables of its container. They are parsed by
// the code of evergate serve, so a finding contains the same error. Values that are not in the input are not checked.
func (i *inspection) flags(s *install.Server) {
	const most = 500 // bytes: the error contains one or two values of the manifest
	f := i.at("serve-flags", s.Process)
	problems, ignored := s.Environment()
	for _, problem := range problems {
		f.error(true, "%s: the container is not started", problem)
	}
	for _, err := range s.Rejected {
		f.error(true, "%s", text.Printable(strings.ReplaceAll(err.Error(), settings.Unknown, "…"), most))
	}
	for _, err := range ignored {
		f.warn(true, "%s", text.Printable(err.Error(), most))
	}
}

// drain inspects whether the kubelet lets the process drain before it kills it. The grace period includes the time of a
// preStop hook. The duration of a command or a request is not known, and the image does not have a shell.
func (i *inspection) drain(s *install.Server) {
	grace := corev1.DefaultTerminationGracePeriodSeconds * time.Second
	if seconds := s.Pod.TerminationGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	need := s.Settings.DrainTimeout + s.Settings.ShutdownTimeout + exitMargin // the drain starts at SIGTERM
	ok := s.Settings.Known("drain-timeout", "shutdown-timeout")
	i.at("grace-period", s.Ref).error(ok && grace < need, "terminationGracePeriodSeconds is %d, and the process may live "+
		"%v after SIGTERM: --drain-timeout=%v, --shutdown-timeout=%v and %v to flush telemetry", int(grace.Seconds()), need,
		s.Settings.DrainTimeout, s.Settings.ShutdownTimeout, exitMargin)
	f, lc := i.at("pre-stop", s.Process), cmp.Or(s.Container.Lifecycle, &corev1.Lifecycle{})
	signal := *cmp.Or(lc.StopSignal, new(corev1.SIGTERM))
	f.error(signal != corev1.SIGTERM && signal != corev1.SIGINT,
		"its stopSignal is %s, and the process drains only after SIGTERM", signal)
	f.error(lc.PreStop != nil && lc.PreStop.Sleep == nil, "it has a preStop hook of unknown duration")
	if lc.PreStop != nil && lc.PreStop.Sleep != nil {
		sleep := time.Duration(lc.PreStop.Sleep.Seconds) * time.Second
		f.error(ok && grace >= need && grace < sleep+need, "after its preStop sleep of %v, %v are left of "+
			"terminationGracePeriodSeconds, and the process may live %v after SIGTERM", sleep, grace-sleep, need)
	}
}

// memory compares GOMEMLIMIT with the memory that the process always uses, and with the memory limit of the container
// or the lower limit of its Pod.
func (i *inspection) memory(s *install.Server) {
	f, of := i.at("memory-limit", s.Process), "its memory limit"
	limit, limited := s.Container.Resources.Limits[corev1.ResourceMemory]
	whole := cmp.Or(s.Pod.Resources, &corev1.ResourceRequirements{}).Limits[corev1.ResourceMemory]
	if !whole.IsZero() && (!limited || whole.Cmp(limit) < 0) {
		limit, limited, of = whole, true, "the memory limit of its Pod"
	}
	byDefault, need := (&settings.Serve{}).Memory(), s.Settings.Memory()
	flags := s.Settings.Known("max-connections", "max-body-bytes") && need > byDefault
	f.warn(limited && flags && need > limit.Value(), "its --max-connections and --max-body-bytes need a memory limit of "+
		"%dMi, and it is %s", need>>20, &limit)
	for _, v := range s.Container.Env {
		from := cmp.Or(v.ValueFrom, &corev1.EnvVarSource{}).ResourceFieldRef
		if v.Name == "GOMEMLIMIT" && from != nil && limited && from.Resource == "limits.memory" {
			f.error(true, "GOMEMLIMIT is %s, %s, and the process also uses memory that Go does not count", of, &limit)
			return
		}
	}
	value := s.Variable("GOMEMLIMIT", goUnlimited)
	bytes, ok := goBytes(value)
	switch {
	case strings.Contains(value, settings.Unknown): // not in the input
	case !ok:
		f.error(true, "GOMEMLIMIT is %q, with which the process exits immediately: use 400MiB", value)
	case 0 <= bytes && bytes < leastMemory:
		f.error(true, "GOMEMLIMIT is %s, and the process needs %d MiB for the connections of one API server", value,
			leastMemory>>20)
	case 0 <= bytes && bytes < leastMemory+policyMemory:
		f.warn(true, "GOMEMLIMIT is %s, and the process needs up to %d MiB while it checks a new policy", value,
			(leastMemory+policyMemory)>>20)
	case !limited:
	case bytes < 0:
		f.warn(true, "%s is %s, and GOMEMLIMIT, from which Go learns the limit, is not set", of, &limit)
	case bytes >= limit.Value():
		f.error(true, "%s, %s, is not above GOMEMLIMIT, %s", of, &limit, value)
	case bytes > limit.Value()-outsideGo:
		f.warn(true, "%s, %s, leaves less than 20 MiB above GOMEMLIMIT, %s, for memory that Go does not count", of, &limit,
			value)
	}
}

// goBytes parses a number of bytes as Go's runtime parses GOMEMLIMIT. It returns -1 for no limit. ok is false if the
// runtime would end the process.
func goBytes(s string) (bytes int64, ok bool) {
	if s == "" || s == goUnlimited {
		return -1, true
	}
	if !regexp.MustCompile(`^[0-9]{1,19}(([KMGT]i)?B)?$`).MatchString(s) {
		return 0, false
	}
	q, err := resource.ParseQuantity(strings.TrimSuffix(s, "B"))
	n, fits := q.AsInt64()
	return n, err == nil && fits
}

// probes inspects the probes. The readiness probe has to use HTTPS for /readyz on the port of --listen, and the
// liveness probe HTTP for /livez on the port of --ops-listen, because it fails only when the process hangs.
func (i *inspection) probes(s *install.Server) {
	f := i.at("readiness", s.Process)
	get := cmp.Or(s.Container.ReadinessProbe, &corev1.Probe{}).HTTPGet
	f.error(get == nil, "it has no readinessProbe by httpGet")
	if get != nil {
		problem := misdirected(s, get, "listen")
		f.error(problem != "", "its readinessProbe %s", problem)
		f.error(get.Path != "/readyz", "its readinessProbe uses the path %q, and /readyz reports whether it is ready",
			get.Path)
	}
	f, get = i.at("liveness", s.Process), cmp.Or(s.Container.LivenessProbe, &corev1.Probe{}).HTTPGet
	f.error(get == nil, "it has no livenessProbe by httpGet, and an open port does not show a hang")
	if get != nil {
		f.error(get.Path != "/livez", "its livenessProbe uses the path %q, and /livez reports whether it hangs", get.Path)
		problem := misdirected(s, get, "ops-listen")
		_, serving := s.Listener("listen")
		waits := problem != "" && serving != 0 && misdirected(s, get, "listen") == ""
		f.warn(waits, "its livenessProbe uses port %d, which is bound only when there is a certificate: use the port of "+
			"--ops-listen", s.Port(get.Port))
		f.error(problem != "" && !waits, "its livenessProbe %s"+restarts, problem)
	}
	if get = cmp.Or(s.Container.StartupProbe, &corev1.Probe{}).HTTPGet; get != nil {
		problem := misdirected(s, get, "ops-listen", "listen")
		f.error(problem != "", "its startupProbe %s"+restarts, problem)
		f.error(get.Path != "/livez" && get.Path != "/readyz",
			"its startupProbe uses the path %q, and neither port answers it with 200: use /livez", get.Path)
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
		_, listens := s.Listener(flag)
		switch serves := flag == "listen"; {
		case listens == 0 || listens == port && serves == https:
			return ""
		case listens == port:
			return fmt.Sprintf("uses port %d with %s, and --%s serves %s there", port, scheme[https], flag, scheme[serves])
		}
		served = append(served, fmt.Sprintf("--%s is on %d", flag, listens))
	}
	return fmt.Sprintf("uses port %d, and %s", port, strings.Join(served, ", and "))
}
