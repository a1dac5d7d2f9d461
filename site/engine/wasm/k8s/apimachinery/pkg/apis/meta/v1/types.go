// Package v1 has the types and constants that package export uses. The playground does not encode them.
package v1

// The constants that package export uses.
const (
	NamespaceSystem = "kube-system"
	NamespacePublic = "kube-public"

	LabelSelectorOpIn    LabelSelectorOperator = "In"
	LabelSelectorOpNotIn LabelSelectorOperator = "NotIn"
)

// The types that package export uses.
type (
	// TypeMeta is the kind of an object.
	TypeMeta struct{ Kind, APIVersion string }
	// ObjectMeta is the metadata of an object.
	ObjectMeta struct {
		Name                string
		Labels, Annotations map[string]string
	}
	// Object is an object with metadata.
	Object interface{ GetName() string }
	// LabelSelectorOperator is In or NotIn.
	LabelSelectorOperator string
	// LabelSelector selects namespaces.
	LabelSelector struct {
		MatchLabels      map[string]string
		MatchExpressions []LabelSelectorRequirement
	}
	// LabelSelectorRequirement is a condition on a label.
	LabelSelectorRequirement struct {
		Key      string
		Operator LabelSelectorOperator
		Values   []string
	}
)

// GetName returns the name.
func (m *ObjectMeta) GetName() string { return m.Name }
