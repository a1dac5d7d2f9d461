package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

func TestServiceTypes(t *testing.T) {
	testServices(t, []serviceCase{
		{"empty is ClusterIP", "types: {allowed: [ClusterIP]}", object.Service{}, nil},
		{"empty is denied as ClusterIP", "types: {denied: [ClusterIP]}", object.Service{}, []string{
			`r/types.denied: spec.type: "ClusterIP" is denied; write another type`}},
		{"not allowed", "types: {allowed: [ClusterIP]}", object.Service{Type: "NodePort"}, []string{
			`r/types.allowed: spec.type: "NodePort" is not allowed; allowed: ClusterIP`}},
		{"nothing allowed", "types: {allowed: []}", object.Service{}, []string{
			`r/types.allowed: spec.type: "ClusterIP" is not allowed; the policy allows none`}},
		{"not denied", "types: {denied: [NodePort]}", object.Service{Type: "LoadBalancer"}, nil},
		{"a type to come", "types: {allowed: [ClusterIP]}", object.Service{Type: "Mesh"}, []string{
			`r/types.allowed: spec.type: "Mesh" is not allowed; allowed: ClusterIP`}},
	})
}

func TestServiceTypesErrors(t *testing.T) {
	testErrors(t, "services", servicesRule, map[string]string{
		"types: {denied: []}":                                         "types.denied: [] checks nothing: leave the field out",
		"types: {denied: [Headless]}":                                 `types.denied[0]: "Headless" is not a type of Service: write ClusterIP, NodePort, LoadBalancer or ExternalName`,
		"types: {allowed: [NodePort], denied: [ClusterIP]}":           "types.denied: has no effect next to allowed, which already denies every other type: write only one of them",
		"types: {allowed: [NodePort], denied: [ClusterIP, NodePort]}": "types.denied: NodePort is also allowed: write one of the two lists",
	})
}
