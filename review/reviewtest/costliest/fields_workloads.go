package costliest

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest"
)

// workloadKinds returns a Deployment, which represents all workloads with one template, and a custom resource with many
// templates. It is the custom resource in the templates block of policy.yaml.
func workloadKinds() []kind {
	workload := func(name string, sent *object, of reflect.Type) kind {
		return kind{
			name: name, paths: []string{"/validate/workloads"}, sent: sent, of: of,
			decode: decoder(review.Workloads(templates())),
		}
	}
	return []kind{
		workload("Deployment", parse(reviewtest.Create(reviewtest.Deployment(1, 0))), reflect.TypeFor[appsv1.Deployment]()),
		workload("Worst", parse(reviewtest.Create(reviewtest.Templates())), reflect.TypeFor[reviewtest.TemplateKind]()),
	}
}

// templates returns the entry in the templates block of policy.yaml.
func templates() policy.Template {
	return policy.Template{
		Group: "worst.example", Versions: []string{"v1"}, Kind: "Worst", Resource: "worsts",
		Paths: []policy.TemplatePath{
			{"spec", "template"}, {"spec", "jobs", "*", "template", "spec"}, {"spec", "roles", "*", "*", "template"},
		},
	}
}
