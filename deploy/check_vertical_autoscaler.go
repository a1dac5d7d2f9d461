package deploy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evergate/evergate/lifecycle/settings"
)

// recommendedMemory is the least memory that the recommender of the VerticalPodAutoscaler recommends for a Pod by
// default: --pod-recommendation-min-memory-mb.
const recommendedMemory = 250 << 20

// verticalAutoscaler checks that no VerticalPodAutoscaler sets a memory limit that is less than 20 MiB above
// GOMEMLIMIT. The autoscaler scales the limit in proportion to the request, between minAllowed and maxAllowed of the
// request.
func verticalAutoscaler() check {
	return check{
		id: "vertical-autoscaler", severity: Error,
		finds: "a VerticalPodAutoscaler that can set a memory limit that is below, equal to or only slightly above " +
			"GOMEMLIMIT. Preflight reports only a warning if the flags of the recommender determine the limit",
		why: "GOMEMLIMIT does not change when the autoscaler lowers the limit, so the kernel kills the process " +
			"before Go collects garbage more often. Under load, all replicas are killed together",
		fix: "set controlledValues: RequestsOnly in the container policy of the VerticalPodAutoscaler, or " +
			"controlledResources: [cpu]",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			for _, o := range c.verticalAutoscalers {
				if v, ok := verticalSpecOf(o); ok && o.GetNamespace() == s.Namespace && v.scales(s) {
					s.checkVertical(c.ref(o), v.policyOf(s.container.Name), r)
				}
			}
		}),
	}
}

// verticalSpec has the fields of a VerticalPodAutoscaler's spec that decide on memory limits.
type verticalSpec struct {
	TargetRef struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"targetRef"`
	UpdatePolicy struct {
		UpdateMode string `json:"updateMode"` // all modes except Off change Pods
	} `json:"updatePolicy"`
	ResourcePolicy struct {
		ContainerPolicies []verticalPolicy `json:"containerPolicies"`
	} `json:"resourcePolicy"`
}

// verticalPolicy is the policy for a container.
type verticalPolicy struct {
	ContainerName       string                `json:"containerName"` // * for all others
	Mode                string                `json:"mode"`
	MinAllowed          corev1.ResourceList   `json:"minAllowed"`
	MaxAllowed          corev1.ResourceList   `json:"maxAllowed"`
	ControlledResources []corev1.ResourceName `json:"controlledResources"` // nil for CPU and memory
	ControlledValues    string                `json:"controlledValues"`
}

// verticalSpecOf reads the spec of a VerticalPodAutoscaler; ok is false if it cannot be read.
func verticalSpecOf(o *unstructured.Unstructured) (v verticalSpec, ok bool) {
	spec, _, err := unstructured.NestedMap(o.Object, "spec")
	if err != nil {
		return v, false
	}
	return v, runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &v) == nil
}

// scales reports whether a VerticalPodAutoscaler changes the Pods of a server.
func (v *verticalSpec) scales(s *server) bool {
	return v.TargetRef.Kind == "Deployment" && v.TargetRef.Name == s.Name && v.UpdatePolicy.UpdateMode != "Off"
}

// policyOf returns the policy for a container: its own policy, the policy for all other containers, or the default.
func (v *verticalSpec) policyOf(container string) verticalPolicy {
	policies := v.ResourcePolicy.ContainerPolicies
	for _, name := range []string{container, "*"} {
		if i := slices.IndexFunc(policies, func(p verticalPolicy) bool { return p.ContainerName == name }); i >= 0 {
			return policies[i]
		}
	}
	return verticalPolicy{}
}

// limitsMemory reports whether the policy allows changes of the container's memory limit.
func (p *verticalPolicy) limitsMemory() bool {
	memory := len(p.ControlledResources) == 0 || slices.Contains(p.ControlledResources, corev1.ResourceMemory)
	return memory && p.Mode != "Off" && p.ControlledValues != "RequestsOnly"
}

// checkVertical reports a policy that can make the memory limit of the container too low.
func (s *server) checkVertical(at ref, p verticalPolicy, r *reporter) {
	limit, limited := s.container.Resources.Limits[corev1.ResourceMemory]
	value := s.env.value("GOMEMLIMIT", goUnlimited)
	soft, ok := goBytes(value)
	if !limited || !ok || soft < 0 || strings.Contains(value, settings.Unknown) || !p.limitsMemory() {
		return // see the check memory-limit
	}
	request, ok := s.container.Resources.Requests[corev1.ResourceMemory]
	if !ok {
		request = limit // by default
	}
	if request.Value() <= 0 {
		return
	}
	// scaled returns the limit for a request.
	scaled := func(bytes int64) *resource.Quantity {
		ratio := float64(limit.Value()) / float64(request.Value())
		return resource.NewQuantity(int64(float64(bytes)*ratio), resource.BinarySI)
	}
	enough := func(q *resource.Quantity) bool { return q.Value() >= soft+outsideGo }
	if most, ok := p.MaxAllowed[corev1.ResourceMemory]; ok && !enough(scaled(most.Value())) {
		r.error(at, "its maxAllowed of %s memory lowers the memory limit of %s to %s or less, and GOMEMLIMIT is %s", &most,
			s.process, rounded(scaled(most.Value())), value)
		return
	}
	if least, ok := p.MinAllowed[corev1.ResourceMemory]; ok {
		if low := scaled(least.Value()); !enough(low) {
			r.error(at, "its minAllowed of %s memory lets it lower the memory limit of %s to %s, and GOMEMLIMIT is %s", &least,
				s.process, rounded(low), value)
		}
		return
	}
	if low := scaled(recommendedMemory / int64(len(s.pod.Containers))); !enough(low) {
		r.error(at, "without a minAllowed it lowers the memory limit of %s to %s while there is little load, and GOMEMLIMIT "+
			"is %s", s.process, rounded(low), value)
	} else {
		r.warning(at, "it changes the memory limit of %s and has no minAllowed for memory: the flags of its recommender "+
			"decide how low the limit can be, and GOMEMLIMIT is %s", s.process, value)
	}
}

// rounded formats a quantity in whole Mi.
func rounded(q *resource.Quantity) string { return fmt.Sprintf("%dMi", q.Value()>>20) }
