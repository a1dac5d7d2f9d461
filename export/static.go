package export

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// staticSuffix ends the names of what stands in files of the API server, which no object can have.
const staticSuffix = ".static.k8s.io"

// makeStatic turns the policies into files of manifest-based admission: their names end so that no object has them. One
// directory is that of one plugin, so that what validates stands before what mutates.
func (x *exporter) makeStatic() {
	x.protect()
	x.probe()
	for i := range x.result.Objects {
		o := &x.result.Objects[i]
		plugin := "validating"
		switch p := o.Object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			p.Name += staticSuffix
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			p.Name, p.Spec.PolicyName = p.Name+staticSuffix, p.Spec.PolicyName+staticSuffix
		case *admissionv1.MutatingAdmissionPolicy:
			p.Name, plugin = p.Name+staticSuffix, "mutating"
		case *admissionv1.MutatingAdmissionPolicyBinding:
			p.Name, p.Spec.PolicyName, plugin = p.Name+staticSuffix, p.Spec.PolicyName+staticSuffix, "mutating"
		}
		o.plugin = plugin
		o.Comment = append(o.Comment, "into the directory staticManifestsDir of the plugin that is "+plugin)
	}
	slices.SortStableFunc(x.result.Objects, func(a, b Object) int { return -strings.Compare(a.plugin, b.plugin) })
}

// protect adds what keeps the enforcement of the policy from being deleted or weakened. Only files can do that: the API
// server does not ask policies that are objects about configurations of admission.
func (x *exporter) protect() {
	const name = "evergate-protect"
	own := x.Exempt[0]
	old := "oldObject.metadata.name"
	ours := "request.resource.resource=='namespaces'?" + old + "==" + str(own) + ":" +
		"request.resource.resource=='configmaps'?request.namespace==" + str(own) + "&&" + old +
		".startsWith('evergate-policy'):" +
		old + "=='evergate'||" + old + ".startsWith('evergate-')"
	x.add(Object{
		Comment: []string{
			"Denies that what enforces the policy is deleted or weakened, but to the group " + x.BreakGlass +
				": webhook configurations,",
			"policies and bindings named evergate or evergate-…, the namespace " + own + ", and its ConfigMap evergate-policy.",
		},
		Object: &admissionv1.ValidatingAdmissionPolicy{
			TypeMeta: typeMeta("ValidatingAdmissionPolicy"), ObjectMeta: x.meta(name),
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy:    new(admissionv1.Fail),
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: protectedResources()},
				MatchConditions: []admissionv1.MatchCondition{
					// A deletion of all objects has no name in the request.
					{Name: "ours", Expression: ours},
					{Name: "not-break-glass", Expression: "!(" + str(x.BreakGlass) + " in request.userInfo.?groups.orValue([]))"},
				},
				Validations: []admissionv1.Validation{{
					Expression: "request.operation=='UPDATE'&&" + notWeaker,
					MessageExpression: "(request.operation=='DELETE'?'deleting ':'changing ')+request.resource.resource+' '+" + old +
						"+" + str(" is denied: it enforces the policy; the group "+x.BreakGlass+" may"),
				}},
			},
		},
	})
	x.add(Object{Object: &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: typeMeta("ValidatingAdmissionPolicyBinding"), ObjectMeta: x.meta(name),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}})
}

// Probe is the name of a ConfigMap whose creation in Evergate's namespace, as a dry run, files of the API server deny:
// the message has the hash of their policy. No API shows what stands in files.
const Probe = "evergate-backstop-probe"

// ProbePolicy is the native policy that denies it.
const ProbePolicy = "evergate-probe" + staticSuffix

// ProbedPolicy returns the hash of the policy that files of the API server are of, by the message with which they deny
// the probe; ok is false for any other message.
func ProbedPolicy(message string) (hash string, ok bool) {
	_, said, ok := strings.Cut(message, ProbePolicy)
	if !ok {
		return "", false
	}
	if _, said, ok = strings.Cut(said, "[policy "); !ok {
		return "", false
	}
	hash, _, ok = strings.Cut(said, "]")
	return hash, ok
}

// probe adds what tells which policy the files are of. Dry runs of that name are all that it denies.
func (x *exporter) probe() {
	name := strings.TrimSuffix(ProbePolicy, staticSuffix)
	x.add(Object{
		Comment: []string{"Tells preflight and kubectl evergate status which policy these files are of."},
		Object: &admissionv1.ValidatingAdmissionPolicy{
			TypeMeta: typeMeta("ValidatingAdmissionPolicy"), ObjectMeta: x.meta(name),
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: new(admissionv1.Fail),
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{
					rule("", []admissionv1.OperationType{admissionv1.Create}, "configmaps"),
				}},
				MatchConditions: []admissionv1.MatchCondition{{Name: "the-probe", Expression: "request.?dryRun.orValue(false)&&" +
					"request.namespace==" + str(x.Exempt[0]) + "&&object.metadata.?name.orValue('')==" + str(Probe)}},
				Validations: []admissionv1.Validation{{Expression: "false", Message: "the files are of [policy " + x.Hash + "]"}},
			},
		},
	})
	x.add(Object{Object: &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: typeMeta("ValidatingAdmissionPolicyBinding"), ObjectMeta: x.meta(name),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}})
}

// notWeaker is whether an update changes nothing that enforces: of policies and bindings their specification, of
// webhooks all but the certificate of the CA, which cert-manager renews.
const notWeaker = "(has(object.webhooks)||has(oldObject.webhooks)?" +
	"size(object.?webhooks.orValue([]))==size(oldObject.?webhooks.orValue([]))&&" +
	"object.webhooks.transformList(i,w,[w,oldObject.webhooks[i]])" +
	".all(p,p[0].name==p[1].name&&p[0].?rules==p[1].?rules&&p[0].?failurePolicy==p[1].?failurePolicy&&" +
	"p[0].?matchPolicy==p[1].?matchPolicy&&" +
	"p[0].?namespaceSelector==p[1].?namespaceSelector&&p[0].?objectSelector==p[1].?objectSelector&&" +
	"p[0].?matchConditions==p[1].?matchConditions&&p[0].?timeoutSeconds==p[1].?timeoutSeconds&&" +
	"p[0].?admissionReviewVersions==p[1].?admissionReviewVersions&&p[0].?sideEffects==p[1].?sideEffects&&" +
	"p[0].?reinvocationPolicy==p[1].?reinvocationPolicy&&p[0].clientConfig.?service==p[1].clientConfig.?service&&" +
	"p[0].clientConfig.?url==p[1].clientConfig.?url)" +
	":object.?spec==oldObject.?spec)"

func protectedResources() []admissionv1.NamedRuleWithOperations {
	all := func(group, version string, operations []admissionv1.OperationType,
		resources ...string) admissionv1.NamedRuleWithOperations {
		r := rule(group, operations, resources...)
		r.APIVersions, r.Scope = []string{version}, nil
		return r
	}
	gone := []admissionv1.OperationType{admissionv1.Delete}
	return []admissionv1.NamedRuleWithOperations{
		all("admissionregistration.k8s.io", "*", []admissionv1.OperationType{admissionv1.Update, admissionv1.Delete},
			"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies",
			"validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
		all("", "v1", gone, "namespaces", "configmaps"),
	}
}

// AdmissionConfiguration is the file that --admission-control-config-file of the API server names for these
// directories.
const AdmissionConfiguration = `# kube-apiserver --admission-control-config-file names a file such as this:
# apiVersion: apiserver.config.k8s.io/v1
# kind: AdmissionConfiguration
# plugins:
# - name: ValidatingAdmissionPolicy
#   configuration:
#     apiVersion: apiserver.config.k8s.io/v1
#     kind: ValidatingAdmissionPolicyConfiguration
#     staticManifestsDir: /etc/kubernetes/admission/validating
# - name: MutatingAdmissionPolicy
#   configuration:
#     apiVersion: apiserver.config.k8s.io/v1
#     kind: MutatingAdmissionPolicyConfiguration
#     staticManifestsDir: /etc/kubernetes/admission/mutating
`
