package export

import (
	"bytes"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Object is a manifest with a comment above it.
type Object struct {
	Comment []string
	Object  any

	plugin string // validating or mutating, for a file of the API server
}

// YAML returns objects as a file with several documents.
func YAML(objects []Object) ([]byte, error) {
	var b bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		for _, line := range o.Comment {
			b.WriteString("# " + strings.ReplaceAll(line, "\n", " ") + "\n")
		}
		manifest, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		b.Write(bytes.TrimSuffix(manifest, []byte("status: {}\n"))) // the API server fills it in
	}
	return b.Bytes(), nil
}

func (x *exporter) add(o Object) { x.result.Objects = append(x.result.Objects, o) }

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: kind}
}

// Component is the value of the label app.kubernetes.io/component of exported objects: the backstop.
const Component = "backstop"

// HashAnnotation is the annotation with the hash of the policy from which an object was exported.
const HashAnnotation = "evergate.dev/policy-hash"

func (x *exporter) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"app.kubernetes.io/name": "evergate",
			"app.kubernetes.io/component": Component},
		Annotations: map[string]string{HashAnnotation: x.Hash},
	}
}

// OptInLabel is the label of the namespaces that are matched. OptInValue is its value.
const (
	OptInLabel = "evergate.dev/admission"
	OptInValue = "enabled"
)

// namespaces selects the namespaces for which the webhooks of the base manifests are called.
func (x *exporter) namespaces() *admissionv1.MatchResources {
	return &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: OptInLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{OptInValue}},
			{Key: namespaceName, Operator: metav1.LabelSelectorOpNotIn, Values: x.Exempt},
		},
	}}
}

// namespaceName is the label with the name of a namespace. The API server sets it.
const namespaceName = "kubernetes.io/metadata.name"

func variablesOf(vars []variable) []admissionv1.Variable {
	all := make([]admissionv1.Variable, len(vars))
	for i, v := range vars {
		all[i] = admissionv1.Variable{Name: v.name, Expression: v.expression}
	}
	return all
}

// rule matches operations on resources in namespaces.
func rule(group string, operations []admissionv1.OperationType,
	resources ...string) admissionv1.NamedRuleWithOperations {
	return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources,
			Scope: new(admissionv1.NamespacedScope),
		},
	}}
}

func createAndUpdate() []admissionv1.OperationType {
	return []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
}

func podResources() []admissionv1.NamedRuleWithOperations {
	return []admissionv1.NamedRuleWithOperations{
		rule("", createAndUpdate(), "pods"),
		rule("", []admissionv1.OperationType{admissionv1.Update}, "pods/ephemeralcontainers"),
	}
}

// notTheClusterItself is the condition of all webhooks in the base manifests. Nodes create only mirror Pods, and the
// API server creates only objects that it needs to run.
func notTheClusterItself() admissionv1.MatchCondition {
	return admissionv1.MatchCondition{
		Name: "not-the-cluster-itself",
		Expression: `!("system:nodes" in request.userInfo.?groups.orValue([])) && ` +
			`request.userInfo.?username.orValue("") != "system:apiserver"`,
	}
}

// podConditions returns the conditions of the webhooks for Pods in the base manifests.
func podConditions() []admissionv1.MatchCondition {
	return []admissionv1.MatchCondition{
		notTheClusterItself(),
		{Name: "images-change", Expression: `request.operation == "CREATE" || ` +
			`object.spec.containers != oldObject.spec.containers || ` +
			`object.spec.?initContainers != oldObject.spec.?initContainers || ` +
			`object.spec.?ephemeralContainers != oldObject.spec.?ephemeralContainers`},
	}
}

// validatedFieldsChange is the condition of the webhooks in the base manifests that validate spec, annotations and
// labels.
func validatedFieldsChange() admissionv1.MatchCondition {
	return admissionv1.MatchCondition{Name: "validated-fields-change", Expression: `request.operation == "CREATE" || ` +
		`object.?spec != oldObject.?spec || ` +
		`object.metadata.?annotations != oldObject.metadata.?annotations || ` +
		`object.metadata.?labels != oldObject.metadata.?labels`}
}
