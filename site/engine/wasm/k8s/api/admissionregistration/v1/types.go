// Package v1 has the types and constants that package export uses. The playground does not encode them.
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The constants that package export uses.
const (
	Fail FailurePolicyType = "Fail"

	Create       OperationType = "CREATE"
	Update       OperationType = "UPDATE"
	Delete       OperationType = "DELETE"
	Connect      OperationType = "CONNECT"
	OperationAll OperationType = "*"

	Deny  ValidationAction = "Deny"
	Warn  ValidationAction = "Warn"
	Audit ValidationAction = "Audit"

	NamespacedScope ScopeType = "Namespaced"
	ClusterScope    ScopeType = "Cluster"

	IfNeededReinvocationPolicy ReinvocationPolicyType = "IfNeeded"
	PatchTypeJSONPatch         PatchType              = "JSONPatch"
)

// SchemeGroupVersion is the group and the version of the types.
const SchemeGroupVersion GroupVersion = "admissionregistration.k8s.io/v1"

// GroupVersion is a group and a version.
type GroupVersion string

// String returns the text of the group and the version.
func (g GroupVersion) String() string { return string(g) }

// The types of fields.
type (
	FailurePolicyType      string
	OperationType          string
	ValidationAction       string
	ScopeType              string
	ReinvocationPolicyType string
	PatchType              string

	Rule struct {
		APIGroups, APIVersions, Resources []string
		Scope                             *ScopeType
	}
	RuleWithOperations struct {
		Operations []OperationType
		Rule
	}
	NamedRuleWithOperations struct {
		ResourceNames []string
		RuleWithOperations
	}
	MatchResources struct {
		NamespaceSelector *metav1.LabelSelector
		ResourceRules     []NamedRuleWithOperations
	}
	MatchCondition struct{ Name, Expression string }
	Variable       struct{ Name, Expression string }
	Validation     struct {
		Expression, Message, MessageExpression string
	}
	AuditAnnotation struct{ Key, ValueExpression string }
	JSONPatch       struct{ Expression string }
	Mutation        struct {
		PatchType PatchType
		JSONPatch *JSONPatch
	}
)

// The kinds of objects.
type (
	ValidatingAdmissionPolicy struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Spec ValidatingAdmissionPolicySpec
	}
	ValidatingAdmissionPolicySpec struct {
		MatchConstraints *MatchResources
		Validations      []Validation
		FailurePolicy    *FailurePolicyType
		AuditAnnotations []AuditAnnotation
		MatchConditions  []MatchCondition
		Variables        []Variable
	}
	ValidatingAdmissionPolicyBinding struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Spec ValidatingAdmissionPolicyBindingSpec
	}
	ValidatingAdmissionPolicyBindingSpec struct {
		PolicyName        string
		MatchResources    *MatchResources
		ValidationActions []ValidationAction
	}
	MutatingAdmissionPolicy struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Spec MutatingAdmissionPolicySpec
	}
	MutatingAdmissionPolicySpec struct {
		MatchConstraints   *MatchResources
		Variables          []Variable
		Mutations          []Mutation
		FailurePolicy      *FailurePolicyType
		MatchConditions    []MatchCondition
		ReinvocationPolicy ReinvocationPolicyType
	}
	MutatingAdmissionPolicyBinding struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Spec MutatingAdmissionPolicyBindingSpec
	}
	MutatingAdmissionPolicyBindingSpec struct {
		PolicyName     string
		MatchResources *MatchResources
	}
)
