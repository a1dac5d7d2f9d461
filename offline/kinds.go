package offline

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// knownKind describes how objects of one kind are validated.
type knownKind struct {
	apiVersions []string        // the versions that clusters serve, the newest first
	admission   *admission.Kind // nil for a kind that is not validated
	custom      bool            // a custom resource in the templates block of the policy, which describes how to read it
}

// makesPods reports whether controllers create Pods from objects of this kind.
func (k knownKind) makesPods() bool { return k.admission != nil && k.admission.MakesPods }

// kindsByName returns every built-in kind that is validated, by its name, and the custom resources in the templates
// block of a policy, by their name and group.
func kindsByName(p *policy.Policy) map[string]knownKind {
	kinds := map[string]knownKind{}
	for _, k := range admission.Kinds() {
		kinds[k.Name] = knownKind{k.APIVersions(), &k, false}
	}
	for _, k := range admission.KindsIn(p) {
		custom := k.MakesPods && strings.Contains(k.Resource.Group, ".")
		if name := k.Name + "." + k.Resource.Group; custom {
			kinds[name] = knownKind{append(kinds[name].apiVersions, k.APIVersions()...), &k, true}
		}
	}
	return kinds
}

// kindOf returns how an object is validated. It returns the zero kind for kinds that Evergate does not validate, and
// for kinds of other groups with the same name, such as a Knative Service, unless the templates block of the policy
// has them. An apiVersion that Kubernetes does not serve for a built-in kind is an error. If such an object were
// skipped, a check would miss an Ingress of extensions/v1beta1, for example.
func (d *Decider) kindOf(o Object) (knownKind, error) {
	if custom, ok := d.kinds[o.Kind+"."+o.group()]; ok {
		if !slices.Contains(custom.apiVersions, o.APIVersion) {
			return knownKind{}, nil
		}
		return custom, nil
	}
	k := d.kinds[o.Kind]
	if k.admission == nil || slices.Contains(k.apiVersions, o.APIVersion) {
		return k, nil
	}
	served, _, _ := strings.Cut(k.apiVersions[0], "/")
	if o.group() != served && strings.Contains(o.group(), ".") && o.group() != "networking.k8s.io" {
		return knownKind{}, nil
	}
	return knownKind{}, o.Errorf("%s: clusters do not serve %s as %s: write apiVersion: %s",
		o, o.Kind, text.Name(o.APIVersion), k.apiVersions[0])
}

// qualified returns the kind with its group if kubectl needs the group to distinguish kinds with the same name, for
// example Service.serving.knative.dev.
func (o Object) qualified() string {
	if group := o.group(); strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		return o.Kind + "." + group
	}
	return o.Kind
}
