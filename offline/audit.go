package offline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy/object"
)

// HasEnded reports whether the object is a Pod whose containers have all ended for good.
func (o Object) HasEnded() bool {
	return o.Kind == "Pod" && (o.phase == "Succeeded" || o.phase == "Failed")
}

// CreatesNoPods reports whether controllers have stopped creating Pods from the object. This is true of a built-in
// workload that is being deleted, a finished Job, and a ReplicaSet or ReplicationController of an earlier revision. A
// rollback does not use an earlier revision directly: it copies the template into the owner first.
func (o Object) CreatesNoPods() bool {
	type owner struct{ Controller bool }
	type condition struct{ Type, Status string }
	var w struct {
		Metadata struct {
			DeletionTimestamp string
			OwnerReferences   []owner
		}
		Spec   struct{ Replicas *int64 }
		Status struct {
			CompletionTime string
			Conditions     []condition
		}
	}
	workload := slices.Contains([]string{
		"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob",
	}, o.Kind) && !strings.Contains(o.group(), ".")
	if !workload || json.Unmarshal(o.JSON, &w, json.MatchCaseInsensitiveNames(true)) != nil {
		return false
	}
	ended := func(c condition) bool { return (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" }
	finished := o.Kind == "Job" && (w.Status.CompletionTime != "" || slices.ContainsFunc(w.Status.Conditions, ended))
	owned := slices.ContainsFunc(w.Metadata.OwnerReferences, func(o owner) bool { return o.Controller })
	earlier := (o.Kind == "ReplicaSet" || o.Kind == "ReplicationController") && owned &&
		w.Spec.Replicas != nil && *w.Spec.Replicas == 0
	return w.Metadata.DeletionTimestamp != "" || finished || earlier
}

// OmitsMirrorPod reports whether an answer is about a mirror Pod, which does not count if the user is unknown. The
// images of a real mirror Pod come from a manifest on its node, and the API server doesn't call the webhooks for nodes.
// But a tenant can write the same annotation, so the answer counts if the user is known.
func (d *Decider) OmitsMirrorPod(a *admission.Answer) bool {
	if a == nil || d.User != "" || len(d.Groups) > 0 {
		return false
	}
	pod, ok := a.Object.(*object.Pod)
	if !ok {
		return false
	}
	_, ok = pod.Annotations["kubernetes.io/config.mirror"]
	return ok
}

// Owner returns the kind and name of the object to fix for a Pod. This is the controller of the Pod, or the
// Deployment if the controller is a ReplicaSet of a Deployment, or the Pod itself if it has no controller.
func Owner(pod *object.Pod) (kind, name string) {
	kind, name, owned := strings.Cut(pod.Owner, "/")
	if !owned {
		return "Pod", pod.Name
	}
	// The Deployment controller names ReplicaSets after the Deployment and this label.
	if hash := pod.Labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" {
		if deployment, ok := strings.CutSuffix(name, "-"+hash); ok {
			return "Deployment", deployment
		}
	}
	return kind, name
}

// owners merges the results of an audit: all Pods of one owner become one result.
type owners map[ownerKey]*shared

type ownerKey struct{ namespace, kind, name string }

// shared is the merged result of an owner. The map records its contents, because Pods of one owner mostly have the same
// findings.
type shared struct {
	Result
	seen map[any]bool
}

// add merges a result. It drops a result without findings, images and rules, so memory grows with the number of
// problems and not with the size of the cluster.
func (os owners) add(r Result) {
	if len(r.Findings)+len(r.Images)+len(r.Rules) == 0 {
		return
	}
	key := ownerKey{r.Namespace, r.Kind, r.Name}
	s := os[key]
	if s == nil {
		s = &shared{
			Result: Result{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Decision: Allowed}, seen: map[any]bool{},
		}
		os[key] = s
	}
	s.Pods += r.Pods
	if r.Decision == Denied {
		s.Decision = Denied
	}
	s.Findings = appendNew(s.Findings, r.Findings, s.seen)
	s.Images = appendNew(s.Images, r.Images, s.seen)
	s.Rules = appendNew(s.Rules, r.Rules, s.seen)
}

// appendNew appends the values that are not in seen, and adds them to seen.
func appendNew[T comparable](to, values []T, seen map[any]bool) []T {
	for _, v := range values {
		if !seen[v] {
			seen[v] = true
			to = append(to, v)
		}
	}
	return to
}

// results returns the merged results, sorted by namespace, kind and name.
func (os owners) results() []Result {
	results := make([]Result, 0, len(os))
	for _, s := range os {
		results = append(results, s.Result)
	}
	slices.SortFunc(results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return results
}
