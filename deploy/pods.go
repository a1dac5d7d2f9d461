package deploy

import (
	"cmp"
	"maps"
	"slices"
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

// Serving returns the Deployments that run evergate serve in the namespace of Evergate.
func Serving(objects *install.Objects) []*appsv1.Deployment {
	joined, err := install.Join(objects)
	if err != nil {
		return nil // no webhook of Evergate
	}
	var all []*appsv1.Deployment
	for _, s := range joined.Servers {
		all = append(all, s.Deployment)
	}
	return all
}

// PodOf returns the Pod that the ReplicaSet of a Deployment creates, without its owner and the hash of its template.
func PodOf(d *appsv1.Deployment) *corev1.Pod {
	template := d.Spec.Template.DeepCopy()
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: d.Name + "-", Namespace: d.Namespace,
			Labels: template.Labels, Annotations: template.Annotations, Finalizers: template.Finalizers,
		},
		Spec: template.Spec,
	}
}

// dryRun returns the answer of the API server to the creation of a Pod of a Deployment, which may be empty.
func (i *inspection) dryRun(s *install.Server) DryRun {
	at := slices.IndexFunc(i.DryRuns, func(d DryRun) bool { return d.Deployment == s.Name })
	if at < 0 {
		return DryRun{}
	}
	return i.DryRuns[at]
}

// admission inspects whether the API server creates the Pods of a Deployment. Without its answer, only Pod Security is
// predicted, because the configuration of the cluster is not in the input.
func (i *inspection) admission(s *install.Server, run DryRun) {
	const maxRejection = 1024 // bytes of the API server's reason
	switch {
	case run.Rejected != "" && run.AsController:
		i.error("pod-rejected", s.Ref, "the API server rejects its Pods in a dry run: %s",
			text.Truncate(run.Rejected, maxRejection))
	case run.Rejected != "":
		i.warning("pod-rejected", s.Ref, "the API server rejects its Pods in a dry run: %s",
			text.Truncate(run.Rejected, maxRejection))
	}
	if run.AsController {
		return
	}
	unlimited := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	labels := i.NamespaceLabels(s.Namespace)
	level, _ := api.PolicyToEvaluate(labels, api.Policy{Enforce: unlimited, Audit: unlimited, Warn: unlimited})
	evaluator, err := podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)
	if err != nil {
		return // the checks of the package contradict each other
	}
	result := podsecurity.AggregateCheckResults(evaluator.EvaluatePod(level.Enforce, &s.Spec.Template.ObjectMeta, s.Pod))
	if !result.Allowed {
		i.error("pod-rejected", s.Ref, "the API server rejects its Pods, because they violate the label %s: %s of the namespace "+
			"%s: %s", api.EnforceLevelLabel, level.Enforce.Level, s.Namespace,
			text.Truncate(result.ForbiddenDetail(), maxRejection))
	}
}

// quotas inspects whether ResourceQuotas have room for all replicas and for the Pods that a rollout adds, which the dry
// run of one Pod does not show.
func (i *inspection) quotas(s *install.Server) {
	for _, q := range install.In[*corev1.ResourceQuota](i.Objects, s.Namespace) {
		scopes := cmp.Or(q.Spec.ScopeSelector, &corev1.ScopeSelector{}).MatchExpressions
		for _, name := range q.Spec.Scopes {
			scopes = append(scopes, corev1.ScopedResourceSelectorRequirement{ScopeName: name, Operator: "Exists"})
		}
		counts := !slices.ContainsFunc(scopes, func(r corev1.ScopedResourceSelectorRequirement) bool { return !inScope(s, r) })
		for _, key := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
			for n, replicas := range []int{s.Replicas(), s.MaxReplicas()} {
				_, surge := s.Rollout(replicas)
				need, hard := demand(s, key), q.Spec.Hard[key]
				if need.Mul(int64(replicas + surge)); !counts || hard.Cmp(need) >= 0 {
					continue
				}
				i.add("resource-quota", []Severity{Error, Warning}[n], i.Ref(q), "it allows %s: %s, and %s needs %s, for %d %s and "+
					"%d more in a rollout", key, &hard, s.Ref, &need, replicas,
					[]string{"replicas", "replicas, the maximum of its autoscaler,"}[n], surge)
				break
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
	case r.Operator == corev1.ScopeSelectorOpExists || r.Operator == corev1.ScopeSelectorOpDoesNotExist:
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
	name = strings.TrimPrefix(name, "requests.")
	for n, c := range s.AllContainers() {
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if n < len(s.Pod.InitContainers) && !sidecar {
			continue
		}
		q, ok := c.Resources.Requests[corev1.ResourceName(name)]
		if !ok || limits {
			q = c.Resources.Limits[corev1.ResourceName(name)]
		}
		sum.Add(q)
	}
	return sum
}
