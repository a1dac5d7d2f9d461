package offline

import (
	"maps"
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
)

// kind says how the objects of one kind are judged.
type kind struct {
	apiVersions []string        // those that clusters serve, the newest first
	judge       *admission.Kind // of the object, or of the Pods of its template; nil for a kind that is not judged
	template    []string        // where the Pod template stands; nil for an object that is judged itself
}

// kindsByName returns every kind that is judged: those that the webhooks judge, and those with a template of Pods.
func kindsByName() map[string]kind {
	kinds := map[string]kind{}
	for _, k := range admission.Kinds() {
		kinds[k.Name] = kind{k.APIVersions(), &k, nil}
	}
	pod := kinds["Pod"].judge
	maps.Copy(kinds, map[string]kind{
		"PodTemplate":           {[]string{"v1"}, pod, []string{"template"}},
		"ReplicationController": {[]string{"v1"}, pod, []string{"spec", "template"}},
		"Deployment":            {[]string{"apps/v1"}, pod, []string{"spec", "template"}},
		"StatefulSet":           {[]string{"apps/v1"}, pod, []string{"spec", "template"}},
		"DaemonSet":             {[]string{"apps/v1"}, pod, []string{"spec", "template"}},
		"ReplicaSet":            {[]string{"apps/v1"}, pod, []string{"spec", "template"}},
		"Job":                   {[]string{"batch/v1"}, pod, []string{"spec", "template"}},
		"CronJob":               {[]string{"batch/v1"}, pod, []string{"spec", "jobTemplate", "spec", "template"}},
	})
	return kinds
}

// kindOf returns how an object is judged. There is no judge for kinds that contain nothing to judge, nor for those of
// other groups with the same name, such as a Knative Service. An apiVersion that Kubernetes itself does not serve for
// the kind is an error: skipping it would hide an Ingress of extensions/v1beta1 from a check.
func (r *reviewer) kindOf(o Object) (kind, error) {
	k := r.kinds[o.Kind]
	if k.judge == nil || slices.Contains(k.apiVersions, o.APIVersion) {
		return k, nil
	}
	served, _, _ := strings.Cut(k.apiVersions[0], "/")
	if o.group() != served && strings.Contains(o.group(), ".") && o.group() != "networking.k8s.io" {
		return kind{}, nil
	}
	return kind{}, o.errorf("%s: no cluster serves %s as %s: write apiVersion: %s",
		o, o.Kind, text.Name(o.APIVersion), k.apiVersions[0])
}

// prefix is what stands before the fields of a Pod in the object that holds its template: "spec.template.".
func (k kind) prefix() string {
	if k.template == nil {
		return ""
	}
	return strings.Join(k.template, ".") + "."
}

// qualified is the kind as kubectl tells kinds of one name apart: Service.serving.knative.dev.
func (o Object) qualified() string {
	if group := o.group(); strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		return o.Kind + "." + group
	}
	return o.Kind
}
