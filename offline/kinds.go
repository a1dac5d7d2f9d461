package offline

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// kind says how the objects of one kind are judged.
type kind struct {
	apiVersions []string        // those that clusters serve, the newest first
	judge       *admission.Kind // nil for a kind that is not judged
	custom      bool            // a custom resource of templates in the policy, which says how it is read
}

// makesPods reports whether controllers create Pods from the objects.
func (k kind) makesPods() bool { return k.judge != nil && k.judge.MakesPods }

// kindsByName returns every kind that is judged whatever the policy, by its name, and by its name and group the custom
// resources of templates in a policy.
func kindsByName(p *policy.Policy) map[string]kind {
	kinds := map[string]kind{}
	for _, k := range admission.Kinds() {
		kinds[k.Name] = kind{k.APIVersions(), &k, false}
	}
	for _, k := range admission.KindsIn(p) {
		custom := k.MakesPods && strings.Contains(k.Resource.Group, ".")
		if name := k.Name + "." + k.Resource.Group; custom {
			kinds[name] = kind{append(kinds[name].apiVersions, k.APIVersions()...), &k, true}
		}
	}
	return kinds
}

// kindOf returns how an object is judged. There is no judge for kinds that contain nothing to judge, nor for those of
// other groups with the same name, such as a Knative Service, unless templates of the policy has them. An apiVersion
// that Kubernetes itself does not serve for
// the kind is an error: skipping it would hide an Ingress of extensions/v1beta1 from a check.
func (j *Judge) kindOf(o Object) (kind, error) {
	if custom, ok := j.kinds[o.Kind+"."+o.group()]; ok {
		if !slices.Contains(custom.apiVersions, o.APIVersion) {
			return kind{}, nil
		}
		return custom, nil
	}
	k := j.kinds[o.Kind]
	if k.judge == nil || slices.Contains(k.apiVersions, o.APIVersion) {
		return k, nil
	}
	served, _, _ := strings.Cut(k.apiVersions[0], "/")
	if o.group() != served && strings.Contains(o.group(), ".") && o.group() != "networking.k8s.io" {
		return kind{}, nil
	}
	return kind{}, o.Errorf("%s: no cluster serves %s as %s: write apiVersion: %s",
		o, o.Kind, text.Name(o.APIVersion), k.apiVersions[0])
}

// qualified is the kind as kubectl tells kinds of one name apart: Service.serving.knative.dev.
func (o Object) qualified() string {
	if group := o.group(); strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		return o.Kind + "." + group
	}
	return o.Kind
}
