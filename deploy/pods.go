package deploy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/internal/text"
)

// PodOf returns the Pod that the ReplicaSet of a Deployment creates, without its owner and the hash of its template.
func PodOf(d *appsv1.Deployment) *corev1.Pod {
	t := d.Spec.Template.DeepCopy()
	t.GenerateName, t.Namespace = d.Name+"-", d.Namespace
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: t.ObjectMeta, Spec: t.Spec}
}

// admission inspects whether the API server creates the Pods of a Deployment. Without its answer, only Pod Security is
// predicted, because the configuration of the cluster is not in the input.
func (i *inspection) admission(s *install.Server, run DryRun) {
	const most = 1024 // bytes of the API server's reason
	f := i.at("pod-rejected", s.Ref)
	f.add(run.Rejected != "", severityIf(run.AsController), "the API server rejects its Pods in a dry run: %s",
		text.Truncate(run.Rejected, most))
	unlimited := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	level, _ := api.PolicyToEvaluate(i.NamespaceLabels(s.Namespace), api.Policy{Enforce: unlimited})
	evaluator, err := podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)
	if err != nil || run.AsController {
		return // the package has no such checks, or the API server has answered
	}
	result := podsecurity.AggregateCheckResults(evaluator.EvaluatePod(level.Enforce, &s.Spec.Template.ObjectMeta, s.Pod))
	f.error(!result.Allowed,
		"the API server rejects its Pods, because they violate the label %s: %s of the namespace %s: %s",
		api.EnforceLevelLabel, level.Enforce.Level, s.Namespace, text.Truncate(result.ForbiddenDetail(), most))
}

// quotas inspects whether ResourceQuotas have room for all replicas and for the Pods that a rollout adds, which the dry
// run of one Pod does not show.
func (i *inspection) quotas(s *install.Server) {
	for _, q := range install.In[*corev1.ResourceQuota](i.Objects, s.Namespace) {
		scopes := cmp.Or(q.Spec.ScopeSelector, &corev1.ScopeSelector{}).MatchExpressions
		for _, name := range q.Spec.Scopes {
			scopes = append(scopes, corev1.ScopedResourceSelectorRequirement{ScopeName: name, Operator: "Exists"})
		}
		if slices.ContainsFunc(scopes, func(r corev1.ScopedResourceSelectorRequirement) bool { return !inScope(s, r) }) {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
			least, most := s.Replicas()
			for n, replicas := range []int{least, most} {
				_, surge := s.Rollout(replicas)
				need, hard, of := demand(s, key), q.Spec.Hard[key], []string{"", ", the maximum of its autoscaler,"}[n]
				if need.Mul(int64(replicas + surge)); hard.Cmp(need) < 0 {
					i.at("resource-quota", i.Ref(q)).add(true, severityIf(n == 0), "it allows %s: %s, and %s needs %s, for %d "+
						"replicas%s and %d more in a rollout", key, &hard, s.Ref, &need, replicas, of, surge)
					break
				}
			}
		}
	}
}

// inScope reports whether a scope of a quota includes the Pods. They have requests, and don't have a deadline.
func inScope(s *install.Server, r corev1.ScopedResourceSelectorRequirement) bool {
	class := s.Pod.PriorityClassName
	switch {
	case r.ScopeName != corev1.ResourceQuotaScopePriorityClass:
		return r.ScopeName == corev1.ResourceQuotaScopeNotTerminating || r.ScopeName == corev1.ResourceQuotaScopeNotBestEffort
	case len(r.Values) == 0:
		return (class != "") == (r.Operator == corev1.ScopeSelectorOpExists)
	}
	return slices.Contains(r.Values, class) == (r.Operator == corev1.ScopeSelectorOpIn)
}

// demand returns how much of a hard limit one Pod needs: the sum of its containers and sidecars. It is zero for limits
// that don't count Pods or their resources.
func demand(s *install.Server, key corev1.ResourceName) (sum resource.Quantity) {
	if key == corev1.ResourcePods || key == "count/pods" {
		return resource.MustParse("1")
	}
	name, limits := strings.CutPrefix(string(key), "limits.")
	of := corev1.ResourceName(strings.TrimPrefix(name, "requests."))
	for n, c := range s.AllContainers() {
		q, ok := c.Resources.Requests[of]
		if !ok || limits {
			q = c.Resources.Limits[of]
		}
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if n >= len(s.Pod.InitContainers) || sidecar {
			sum.Add(q)
		}
	}
	return sum
}

// mesh is a label or an annotation that makes a service mesh add its proxy to Pods.
type mesh struct {
	name, what, key string   // label or annotation, the key
	on              []string // its values; nil for any. Another value on the Pod or the namespace means no proxy
	excludes        string   // the annotation with the ports that the proxy does not intercept; "" if it intercepts all
}

// meshes returns the labels and annotations as the injectors read them. A value on the Pod counts more than a value on
// its namespace.
func meshes() []mesh {
	const istio = "traffic.sidecar.istio.io/excludeInboundPorts"
	return []mesh{
		{"Istio", "label", "istio-injection", []string{"enabled"}, istio},
		{"Istio", "label", "istio.io/rev", nil, istio},
		{"Istio", "label", "sidecar.istio.io/inject", []string{"true"}, istio},
		{"Istio's ambient mode", "label", "istio.io/dataplane-mode", []string{"ambient"}, ""},
		{"Linkerd", "annotation", "linkerd.io/inject", []string{"enabled", "ingress"},
			"config.linkerd.io/skip-inbound-ports"},
		{"Kuma", "label", "kuma.io/sidecar-injection", []string{"enabled", "true"}, "traffic.kuma.io/exclude-inbound-ports"},
		{"Consul", "annotation", "consul.hashicorp.com/connect-inject", []string{"true", "1"},
			"consul.hashicorp.com/transparent-proxy-exclude-inbound-ports"},
	}
}

// value returns the value of the label or annotation of an object. The meshes with labels read annotations in older
// versions.
func (m *mesh) value(o metav1.Object) string {
	if m.what == "annotation" {
		return o.GetAnnotations()[m.key]
	}
	return cmp.Or(o.GetLabels()[m.key], o.GetAnnotations()[m.key])
}

// meshes inspects whether a service mesh adds its proxy to the Pods. Pods in the host network do not get one.
func (i *inspection) meshes(s *install.Server, run DryRun) {
	const id, include = "sidecar-injection", "traffic.sidecar.istio.io/includeInboundPorts"
	ns := cmp.Or(install.Find[*corev1.Namespace](i.Objects, "", s.Namespace), &corev1.Namespace{})
	template := &s.Spec.Template
	_, port := s.Listener("listen")
	has := func(list string) bool { return slices.Contains(strings.Split(list, ","), strconv.Itoa(int(port))) }
	done := map[string]bool{"": s.Pod.HostNetwork}
	for _, m := range meshes() { // a mesh that one of its values switches off
		value := cmp.Or(m.value(template), m.value(ns))
		done[m.name] = done[m.name] || done[""] || value != "" && m.on != nil && !slices.Contains(m.on, value) ||
			m.excludes == "" && template.Annotations["ambient.istio.io/bypass-inbound-capture"] == "true"
	}
	found := false
	for _, m := range meshes() {
		f, why := i.at(id, s.Ref), "the "+m.what+" "+m.key+": "+m.value(template)+" of its Pod template makes "+m.name
		if m.value(template) == "" {
			f, why = i.at(id, i.Ref(ns)), "its "+m.what+" "+m.key+": "+m.value(ns)+" makes "+m.name
		}
		if done[m.name] || m.value(template)+m.value(ns) == "" {
			continue
		}
		done[m.name], found = true, true
		list := template.Annotations[m.excludes]
		if m.name == "Linkerd" {
			list = cmp.Or(list, ns.Annotations[m.excludes])
		}
		off := has(list)
		if only, limited := template.Annotations[include]; limited && m.name == "Istio" && only != "*" {
			off = !has(only)
		}
		f.error(m.excludes == "",
			"%s take over port %d of the Pods of %s, and with strict mutual TLS it rejects the API server", why, port, s.Ref)
		f.warn(off,
			"%s add its proxy to the Pods of %s; annotations keep it off port %d, but the Pods still need it to start", why,
			s.Ref, port)
		f.error(!off && m.excludes != "",
			"%s add its proxy to the Pods of %s, in front of port %d, which the API server calls", why, s.Ref, port)
	}
	more := added(s, run.Pod)
	i.at(id, s.Ref).warn(!found && len(more) > 0, "the API server adds containers to its Pods in a dry run: %s",
		some(more))
}

// added lists the containers that admission adds to the Pods of a server. pod may be nil.
func added(s *install.Server, pod *corev1.Pod) []string {
	var names []string
	spec := cmp.Or(pod, &corev1.Pod{}).Spec
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if !slices.ContainsFunc(s.AllContainers(), func(own corev1.Container) bool { return own.Name == c.Name }) {
			names = append(names, c.Name)
		}
	}
	return names
}
