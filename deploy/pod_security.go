package deploy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The rules of the Pod Security Standards, https://kubernetes.io/docs/concepts/security/pod-security-standards/, as
// k8s.io/pod-security-admission v0.36 applies them in its package policy, except SELinux, AppArmor, procMount, sysctls
// and Windows, which a manifest of Evergate has no reason to mention.
//
// The package is not imported, because it would add 0.30 MiB to the binary, which is at its limit of 27 MiB (see
// mostSize in bench/report.go). We measured this in November 2026 with version v0.37.2: 28,643,490 bytes with the
// package, and 28,324,002 bytes with this file.

// enforceLabel is the label of a namespace with the profile that its Pods have to satisfy.
const enforceLabel = "pod-security.kubernetes.io/enforce"

// The profiles that reject Pods. The profile privileged, which is also the default of a namespace without the label,
// allows all Pods.
const (
	baseline   = "baseline"
	restricted = "restricted"
)

// violations collects the violations of a profile, each with the required value: FIELD is VALUE, which has to be ….
type violations []string

func (v *violations) add(format string, args ...any) { *v = append(*v, fmt.Sprintf(format, args...)) }

// podViolations returns the violations of a profile in a Pod. restricted includes all rules of baseline.
func podViolations(profile string, pod *corev1.PodSpec) []string {
	var v violations
	security := pod.SecurityContext
	if security == nil {
		security = &corev1.PodSecurityContext{}
	}
	v.baselinePod(pod, security)
	for _, c := range containersOf(pod) {
		v.baselineContainer(pod, c)
	}
	if profile == restricted {
		v.restrictedPod(pod, security)
		for _, c := range containersOf(pod) {
			v.restrictedContainer(security, c)
		}
	}
	return v
}

// namedContainer is a container, and the prefix of its fields in sentences.
type namedContainer struct {
	*corev1.Container
	security *corev1.SecurityContext // never nil
	name     string
}

func containersOf(pod *corev1.PodSpec) []namedContainer {
	var all []namedContainer
	for _, list := range []struct {
		field string
		of    []corev1.Container
	}{{"initContainers", pod.InitContainers}, {"containers", pod.Containers}} {
		for i := range list.of {
			c := namedContainer{&list.of[i], list.of[i].SecurityContext, fmt.Sprintf("%s[%s].", list.field, list.of[i].Name)}
			if c.security == nil {
				c.security = &corev1.SecurityContext{}
			}
			all = append(all, c)
		}
	}
	return all
}

func (v *violations) baselinePod(pod *corev1.PodSpec, security *corev1.PodSecurityContext) {
	for _, field := range []struct {
		name string
		set  bool
	}{{"hostNetwork", pod.HostNetwork}, {"hostPID", pod.HostPID}, {"hostIPC", pod.HostIPC}} {
		if field.set {
			v.add("%s is true, which has to be false", field.name)
		}
	}
	for i := range pod.Volumes {
		if pod.Volumes[i].HostPath != nil {
			v.add("volumes[%s] is a hostPath, which no volume may be", pod.Volumes[i].Name)
		}
	}
	v.unconfined("", security.SeccompProfile)
}

func (v *violations) unconfined(where string, profile *corev1.SeccompProfile) {
	if profile != nil && profile.Type == corev1.SeccompProfileTypeUnconfined {
		v.add("%ssecurityContext.seccompProfile.type is Unconfined, which has to be RuntimeDefault", where)
	}
}

// baselineCapabilities returns the capabilities that baseline allows: the defaults of container runtimes.
func baselineCapabilities() []corev1.Capability {
	return []corev1.Capability{"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
		"NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
}

func (v *violations) baselineContainer(pod *corev1.PodSpec, c namedContainer) {
	if isTrue(c.security.Privileged) {
		v.add("%ssecurityContext.privileged is true, which has to be false", c.name)
	}
	for _, p := range c.Ports {
		// In the host network, the API server sets hostPort itself, so it is not a separate violation.
		if p.HostPort != 0 && (!pod.HostNetwork || p.HostPort != p.ContainerPort) {
			v.add("%sports has the hostPort %d, which has to be absent", c.name, p.HostPort)
		}
	}
	if caps := c.security.Capabilities; caps != nil {
		if more := slices.DeleteFunc(slices.Clone(caps.Add), inList(baselineCapabilities())); len(more) > 0 {
			v.add("%ssecurityContext.capabilities.add has %s, which has to be absent", c.name, someOf(more))
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil && probe.HTTPGet != nil && probe.HTTPGet.Host != "" { // since Kubernetes 1.34
			v.add("%shttpGet.host of a probe is %s, which has to be absent", c.name, probe.HTTPGet.Host)
		}
	}
	v.unconfined(c.name, c.security.SeccompProfile)
}

func (v *violations) restrictedPod(pod *corev1.PodSpec, security *corev1.PodSecurityContext) {
	if id := security.RunAsUser; id != nil && *id == 0 {
		v.add("securityContext.runAsUser is 0, which has to be another")
	}
	if isFalse(security.RunAsNonRoot) {
		v.add("securityContext.runAsNonRoot is false, which has to be true")
	}
	for i := range pod.Volumes {
		if volume := &pod.Volumes[i]; volume.HostPath == nil && !isRestrictedVolume(&volume.VolumeSource) {
			v.add("volumes[%s] is of a type other than configMap, csi, downwardAPI, emptyDir, ephemeral, image, "+
				"persistentVolumeClaim, projected and secret", volume.Name)
		}
	}
}

func isRestrictedVolume(v *corev1.VolumeSource) bool {
	return v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil ||
		v.Image != nil || v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil
}

func (v *violations) restrictedContainer(pod *corev1.PodSecurityContext, c namedContainer) {
	if id := c.security.RunAsUser; id != nil && *id == 0 {
		v.add("%ssecurityContext.runAsUser is 0, which has to be another", c.name)
	}
	switch own := c.security.RunAsNonRoot; {
	case isFalse(own):
		v.add("%ssecurityContext.runAsNonRoot is false, which has to be true", c.name)
	case own == nil && pod.RunAsNonRoot == nil:
		v.add("%ssecurityContext.runAsNonRoot is absent, which has to be true", c.name)
	}
	if !isFalse(c.security.AllowPrivilegeEscalation) {
		v.add("%ssecurityContext.allowPrivilegeEscalation has to be false", c.name)
	}
	if c.security.SeccompProfile == nil && pod.SeccompProfile == nil {
		v.add("%ssecurityContext.seccompProfile.type is absent, which has to be RuntimeDefault", c.name)
	}
	caps := c.security.Capabilities
	if caps == nil || !slices.Contains(caps.Drop, "ALL") {
		v.add("%ssecurityContext.capabilities.drop has to have ALL", c.name)
	}
	if caps != nil {
		only := []corev1.Capability{"NET_BIND_SERVICE"}
		// Violations of baseline are already reported.
		more := slices.DeleteFunc(slices.Clone(caps.Add), func(a corev1.Capability) bool {
			return slices.Contains(only, a) || !slices.Contains(baselineCapabilities(), a)
		})
		if len(more) > 0 {
			v.add("%ssecurityContext.capabilities.add has %s, and may have NET_BIND_SERVICE only", c.name, someOf(more))
		}
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func isFalse(b *bool) bool { return b != nil && !*b }

func inList[T comparable](list []T) func(T) bool {
	return func(v T) bool { return slices.Contains(list, v) }
}

// someOf is the function some for other string types.
func someOf[T ~string](names []T) string {
	var all []string
	for _, n := range names {
		all = append(all, string(n))
	}
	return some(all)
}
