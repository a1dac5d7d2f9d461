package export

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// staticSuffix is the suffix of names in files of the API server. API objects cannot have it in their names.
const staticSuffix = ".static.k8s.io"

// makeStatic turns the policies into files of manifest-based admission and adds staticSuffix to their names. Each
// plugin has its own directory, so the files are sorted: validating first, then mutating.
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
		o.Comment = append(o.Comment, "put this into the staticManifestsDir directory of the "+plugin+" plugin")
	}
	slices.SortStableFunc(x.result.Objects, func(a, b Object) int { return -strings.Compare(a.plugin, b.plugin) })
}

// protect adds a policy that prevents users from deleting or weakening the enforcement of the policy. This is
// possible only with files, because the API server does not apply policy objects to admission configurations.
func (x *exporter) protect() {
	const name = "evergate-protect"
	own := x.Exempt[0]
	old := "oldObject.metadata.name"
	ours := "request.resource.resource=='namespaces'?" + old + "==" + str(own) + ":" +
		"request.resource.resource=='configmaps'?request.namespace==" + str(own) + "&&" + old +
		".startsWith('evergate-policy'):" +
		old + "=='evergate'||" + old + ".startsWith('evergate-')"
	x.addValidating(name, []string{
		"Only the group " + x.BreakGlass + " may delete or weaken the enforcement of the policy:",
		"webhook configurations, policies and bindings named evergate or evergate-…,",
		"the namespace " + own + ", and its ConfigMap evergate-policy.",
	}, admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: protectedResources()},
		MatchConditions: []admissionv1.MatchCondition{
			// The request to delete a collection does not contain a name.
			{Name: "ours", Expression: ours},
			{Name: "not-break-glass", Expression: "!(" + str(x.BreakGlass) + " in request.userInfo.?groups.orValue([]))"},
		},
		Validations: []admissionv1.Validation{{
			Expression: "request.operation=='UPDATE'&&" + notWeaker,
			MessageExpression: "(request.operation=='DELETE'?'deleting ':'changing ')+request.resource.resource+' '+" + old +
				"+" + str(" is denied: it enforces the policy; only the group "+x.BreakGlass+" may do this"),
		}},
	}, admissionv1.Deny, nil)
}

// Probe is the name of a ConfigMap. If it is created as a dry run in Evergate's namespace, files of the API server
// deny the request with a message that contains the hash of their policy. The hash cannot be read in another way,
// because no API shows the content of these files.
const Probe = "evergate-backstop-probe"

// ProbePolicy is the name of the native policy that denies Probe.
const ProbePolicy = "evergate-probe" + staticSuffix

// ProbedPolicy returns the hash of the policy from the message that denies Probe. ok is false for any other message.
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

// probe adds the policy that reports the hash. It denies only dry runs with the name Probe.
func (x *exporter) probe() {
	name := strings.TrimSuffix(ProbePolicy, staticSuffix)
	x.addValidating(name, []string{
		"Shows preflight and kubectl evergate status from which policy these files were exported.",
	}, admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{
			rule("", []admissionv1.OperationType{admissionv1.Create}, "configmaps"),
		}},
		MatchConditions: []admissionv1.MatchCondition{{Name: "the-probe", Expression: "request.?dryRun.orValue(false)&&" +
			"request.namespace==" + str(x.Exempt[0]) + "&&object.metadata.?name.orValue('')==" + str(Probe)}},
		Validations: []admissionv1.Validation{{Expression: "false", Message: "exported from [policy " + x.Hash + "]"}},
	}, admissionv1.Deny, nil)
}

// notWeaker is a condition that an update does not weaken the enforcement. It must not change the spec of policies
// and bindings. In webhooks it may only change the CA certificate, which cert-manager renews.
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
	enforcement := rule("admissionregistration.k8s.io",
		[]admissionv1.OperationType{admissionv1.Update, admissionv1.Delete},
		"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies",
		"validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
	enforcement.APIVersions = []string{"*"}
	deleted := rule("", []admissionv1.OperationType{admissionv1.Delete}, "namespaces", "configmaps")
	enforcement.Scope, deleted.Scope = nil, nil
	return []admissionv1.NamedRuleWithOperations{enforcement, deleted}
}

// AdmissionConfiguration is a comment with a configuration file for the API server that uses these directories.
const AdmissionConfiguration = `# Use a file like this with kube-apiserver --admission-control-config-file:
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
