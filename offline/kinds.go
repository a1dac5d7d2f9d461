package offline

import (
	"strings"
)

// kind says how the objects of one kind are judged.
type kind struct {
	apiVersion string   // the one that clusters serve
	judge      judge    // of the object, or of the Pods of its template
	template   []string // where the Pod template stands; nil for an object that is judged itself
}

// kinds holds every kind that is judged, by name.
var kinds = map[string]kind{
	"Pod":                   {"v1", pods, nil},
	"PodTemplate":           {"v1", pods, []string{"template"}},
	"ReplicationController": {"v1", pods, []string{"spec", "template"}},
	"Deployment":            {"apps/v1", pods, []string{"spec", "template"}},
	"StatefulSet":           {"apps/v1", pods, []string{"spec", "template"}},
	"DaemonSet":             {"apps/v1", pods, []string{"spec", "template"}},
	"ReplicaSet":            {"apps/v1", pods, []string{"spec", "template"}},
	"Job":                   {"batch/v1", pods, []string{"spec", "template"}},
	"CronJob":               {"batch/v1", pods, []string{"spec", "jobTemplate", "spec", "template"}},
	"Ingress":               {"networking.k8s.io/v1", ingresses, nil},
	"Service":               {"v1", services, nil},
}

// kindOf finds out how an object is judged. There is no judge for kinds that hold nothing to judge, and for those of
// other groups that only share the name, such as a Knative Service. An apiVersion that Kubernetes itself does not serve
// for the kind is an error: skipping it would hide an Ingress of extensions/v1beta1 from a check.
func kindOf(o Object) (kind, error) {
	k := kinds[o.Kind]
	if k.judge == nil || o.APIVersion == k.apiVersion {
		return k, nil
	}
	if strings.Contains(o.group(), ".") && o.group() != "networking.k8s.io" {
		return kind{}, nil
	}
	return kind{}, o.errorf("%s: no cluster serves %s as %s: write apiVersion: %s",
		o, o.Kind, printable(o.APIVersion), k.apiVersion)
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
