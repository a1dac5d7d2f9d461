package deploy

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/kustomize"
	"github.com/evergate/evergate/offline/native"
	"github.com/evergate/evergate/policy"
)

// policies inspects whether the processes load a policy with entries.
func (i *inspection) policies() {
	if len(i.Hooks) == 0 {
		switch cm := i.PolicyMap; {
		case cm != nil:
			i.policyFiles(i.Ref(cm), "", install.VolumeFiles(cm, nil))
			i.load(i.Ref(cm), i.Files)
		case i.Live && !i.Unread("configmaps"):
			i.error("policy-missing", i.Anchor(), "there is no ConfigMap evergate-policy with the policy that the native policies "+
				"were exported from")
		}
	}
	for _, s := range i.Servers {
		if !s.Settings.Dev && s.Settings.Known("policy") {
			i.policyOf(s)
		}
		i.load(s.Process, s.Policy)
	}
}

// load reports a policy that fails to load, once for all Deployments that mount it.
func (i *inspection) load(at install.Ref, files []policy.File) {
	_, err := policy.Load(files...)
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) {
		message := "its policy fails to load: " + strings.TrimSpace(line)
		if !slices.ContainsFunc(i.found, func(f found) bool { return f.Message == message }) {
			i.error("policy", at, "%s", message)
		}
	}
}

// policyOf inspects whether --policy is in a mounted volume. If the input has its ConfigMap or is a live cluster, the
// ConfigMap has to be in the namespace of the Deployment.
func (i *inspection) policyOf(s *install.Server) {
	const id = "policy-missing"
	path := s.Settings.Policy
	v, mount := s.VolumeAt(path)
	i.warnIf(path == "" && !s.Settings.RequirePolicy, id, s.Process, "it has no --policy: every object is allowed")
	i.errorIf(path != "" && v == nil, id, s.Process, "--policy is %s, and no volume is mounted there", path)
	if v == nil || path == "" {
		return
	}
	at, files := s.Process, []policy.File(nil)
	mounts, known := s.PolicyMaps()
	for _, mounted := range mounts {
		if cm := install.Find[*corev1.ConfigMap](i.Objects, s.Namespace, mounted.Name); cm != nil {
			at, files = i.Ref(cm), append(files, install.VolumeFiles(cm, mounted.Items)...)
			continue
		}
		known = false
		elsewhere := ""
		for _, cm := range install.Of[*corev1.ConfigMap](i.Objects) {
			if cm.Name == mounted.Name {
				elsewhere = cm.Namespace
			}
		}
		i.errorIf(elsewhere != "", id, s.Process, "the ConfigMap %s of its policy is in the namespace %s, from where no Pod of %s "+
			"can mount it", mounted.Name, elsewhere, s.Namespace)
		i.errorIf(elsewhere == "" && i.Live && !i.Unread("configmaps"), id, s.Process, "there is no ConfigMap %s, which contains "+
			"its policy", mounted.Name)
	}
	below := s.PolicyPath()
	contained := below == "" || slices.ContainsFunc(files, func(f policy.File) bool {
		return strings.HasPrefix(f.Name+"/", below+"/")
	})
	switch {
	case !known || mount.SubPath+mount.SubPathExpr != "": // see pod
	case !contained:
		i.error(id, s.Process, "--policy is %s, which is not in the volume; the volume contains: %s", path, fileNames(files))
	default:
		i.policyFiles(at, below, files)
	}
}

// policyFiles reports a volume whose files do not contain a policy with entries. path is --policy within the volume.
func (i *inspection) policyFiles(at install.Ref, path string, files []policy.File) {
	loaded := install.Loaded(path, files)
	p, err := policy.Load(loaded...)
	i.errorIf(len(loaded) == 0, "policy-missing", at, "evergate serve loads only files directly in --policy whose names end in "+
		".yaml or .yml and do not begin with a dot, and the volume contains: %s", fileNames(files))
	i.errorIf(len(loaded) > 0 && err == nil && p.Emptied(), "policy-missing", at, "its policy has no entries: every object is "+
		"allowed")
}

// fileNames lists the names of files.
func fileNames(files []policy.File) string {
	var names []string
	for _, f := range files {
		names = append(names, install.Printable(f.Name))
	}
	return some(names)
}

// namespaces inspects the namespaces in which the policy applies.
func (i *inspection) namespaces() {
	i.optIn()
	var covered, not []string
	protected, scopes := i.Protected(), i.Scopes()
	for _, ns := range install.Of[*corev1.Namespace](i.Objects) {
		i.mirrors(ns)
		set := i.NamespaceLabels(ns.Name)
		left := slices.ContainsFunc(scopes, func(s install.Scope) bool { return !install.Selects(s.Selector, set) })
		switch exempt := slices.Contains(protected, ns.Name); {
		case !install.Live(ns):
		case !exempt && !left && len(scopes) > 0:
			covered = append(covered, ns.Name)
		case ns.Labels[optInLabel] == optInEnabled:
			i.warning("coverage", i.Ref(ns), "it has opted in, and is not covered")
		case !exempt:
			not = append(not, ns.Name)
		}
	}
	if len(covered)+len(not) > 0 {
		at := i.Anchor().In("namespaces")
		i.add("coverage", Info, at, "%d covered: %s", len(covered), some(covered))
		i.add("coverage", Info, at, "%d not covered: %s", len(not), some(not))
	}
}

// mirrors inspects whether images are rewritten in a namespace in which their mirror runs. A mirror runs in a namespace
// if its registry is a Service there (name.namespace.svc) or the host of an Ingress or a route there.
func (i *inspection) mirrors(ns *corev1.Namespace) {
	if i.Policy == nil || !i.rewrites(i.NamespaceLabels(ns.Name)) {
		return
	}
	hosts := map[string]bool{}
	for _, ing := range install.In[*networkingv1.Ingress](i.Objects, ns.Name) {
		for _, rule := range ing.Spec.Rules {
			hosts[strings.ToLower(rule.Host)] = true
		}
	}
	for _, route := range install.In[*install.Route](i.Objects, ns.Name) {
		for _, host := range append(route.Spec.Hostnames, route.Spec.Host) {
			hosts[strings.ToLower(host)] = true
		}
	}
	places := install.Filter(i.Policy.MirrorPlaces(), func(place string) bool {
		registry, _, _ := strings.Cut(place, "/")
		host, _, _ := strings.Cut(registry, ":")
		parts := strings.Split(host, ".")
		return hosts[strings.ToLower(host)] || len(parts) > 2 && parts[2] == "svc" && parts[1] == ns.Name
	})
	i.errorIf(len(places) > 0, "mirror-namespace", i.Ref(ns), "its images are rewritten to a registry that runs in this "+
		"namespace: %s", some(places))
}

// rewrites reports whether a webhook or a native policy rewrites Pod images in a namespace with these labels.
func (i *inspection) rewrites(set map[string]string) bool {
	return slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool {
		return h.Mutating && h.CreatesPods() && install.Selects(h.NamespaceSelector, set)
	}) || slices.ContainsFunc(i.Native.Bindings(nil), func(b native.Object) bool {
		return b.Mutates() && install.Selects(b.Namespaces(), set)
	})
}

// bindings inspects whether a role is bound to the ServiceAccount of a serving process, which never calls the API
// server.
func (i *inspection) bindings() {
	check := func(at install.Ref, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
		for _, subject := range subjects {
			serves := slices.ContainsFunc(i.Servers, func(s *install.Server) bool {
				return s.Namespace == cmp.Or(subject.Namespace, at.Namespace) &&
					cmp.Or(s.Pod.ServiceAccountName, "default") == subject.Name
			})
			i.errorIf(subject.Kind == rbacv1.ServiceAccountKind && serves, "rbac", at, "it binds %s %s to the ServiceAccount %s, "+
				"which serves and does not need permissions", role.Kind, role.Name, subject.Name)
		}
	}
	for _, b := range install.Of[*rbacv1.RoleBinding](i.Objects) {
		check(i.Ref(b), b.RoleRef, b.Subjects)
	}
	for _, b := range install.Of[*rbacv1.ClusterRoleBinding](i.Objects) {
		check(i.Ref(b), b.RoleRef, b.Subjects)
	}
}

// Namespaces opt in to Evergate, or out of it, with the label optInLabel.
const (
	optInLabel    = "evergate.dev/admission"
	optInEnabled  = "enabled"
	optInDisabled = "disabled" // if namespaces opt out
)

// optIn inspects the values of the opt-in label in the selectors, and the two policies that guard it. They have to equal
// the policies of kustomize/base, so their expressions are not read.
func (i *inspection) optIn() {
	label, names := i.guard("evergate-opt-in"), i.guard("evergate-exempt-namespaces")
	scopes, exempt := i.Scopes(), i.Exempt()
	for _, s := range scopes {
		if label == nil && len(install.RequirementsOn(s.Selector, optInLabel)) > 0 {
			i.warning("opt-in-guard", s.Ref, "it selects namespaces by the label %s, which no ValidatingAdmissionPolicy guards",
				optInLabel)
			break
		}
	}
	if names == nil {
		i.warnIf(len(exempt) > 0, "opt-in-guard", i.Anchor(), "it excludes namespaces by name, whose creation no "+
			"ValidatingAdmissionPolicy guards: %s", some(exempt))
	} else {
		selector := cmp.Or(names.Spec.MatchConstraints, &admissionv1.MatchResources{}).NamespaceSelector
		open := install.Filter(exempt, func(name string) bool {
			return !install.Selects(selector, map[string]string{corev1.LabelMetadataName: name})
		})
		i.warnIf(len(open) > 0, "opt-in-guard", i.Ref(names), "webhooks exclude namespaces whose creation it does not guard: %s",
			some(open))
	}
	i.optInValues(label)
}

// guard returns a policy of kustomize/base that is in the input, or nil. It reports a policy that differs or has no
// effect.
func (i *inspection) guard(name string) *admissionv1.ValidatingAdmissionPolicy {
	is := install.Find[*admissionv1.ValidatingAdmissionPolicy](i.Objects, "", name)
	if is == nil {
		return nil
	}
	for document := range bytes.SplitSeq(kustomize.OptInGuard, []byte("\n---\n")) {
		var want admissionv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal(document, &want); err != nil || want.Kind != is.Kind || want.Name != name {
			continue
		}
		var differ []string
		wanted := decisive(&want)
		for n, f := range decisive(is) {
			if !equality.Semantic.DeepEqual(f.value, wanted[n].value) {
				differ = append(differ, f.name)
			}
		}
		i.warnIf(len(differ) > 0, "opt-in-guard", i.Ref(is), "it differs from kustomize/base of this version in %s",
			strings.Join(differ, ", "))
	}
	denies := slices.ContainsFunc(install.Of[*admissionv1.ValidatingAdmissionPolicyBinding](i.Objects),
		func(b *admissionv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Spec.PolicyName == name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
		})
	i.warnIf(!denies, "opt-in-guard", i.Ref(is), "it has no ValidatingAdmissionPolicyBinding that denies")
	return is
}

// field is a field of a specification.
type field struct {
	name  string
	value any
}

// decisive returns the fields of a policy that determine its decisions, with the defaults of the API server. The
// wiring of the manifests sets the namespaceSelector.
func decisive(p *admissionv1.ValidatingAdmissionPolicy) []field {
	var expressions []string
	for _, v := range p.Spec.Validations {
		expressions = append(expressions, v.Expression)
	}
	constraints := *cmp.Or(p.Spec.MatchConstraints, &admissionv1.MatchResources{})
	var rules []admissionv1.NamedRuleWithOperations
	for _, r := range constraints.ResourceRules {
		r.Scope = cmp.Or(r.Scope, new(admissionv1.AllScopes))
		rules = append(rules, r)
	}
	return []field{
		{"spec.failurePolicy", *cmp.Or(p.Spec.FailurePolicy, new(admissionv1.Fail))},
		{"spec.matchConstraints", []any{rules, constraints.ExcludeResourceRules, install.SelectsAll(constraints.ObjectSelector)}},
		{"spec.matchConditions", p.Spec.MatchConditions}, {"spec.variables", p.Spec.Variables},
		{"spec.validations", expressions},
	}
}

// optInValues inspects whether the selectors can select a namespace with some value of the opt-in label or without the
// label. The guard accepts two values. Without it, a namespace can have any value.
func (i *inspection) optInValues(guard *admissionv1.ValidatingAdmissionPolicy) {
	reported := map[string]bool{} // each value once for all selectors
	for _, s := range i.Scopes() {
		requirements := install.RequirementsOn(s.Selector, optInLabel)
		possible, denied := []labels.Set{{}, {optInLabel: optInEnabled}, {optInLabel: optInDisabled}}, []string(nil)
		for _, r := range requirements {
			for value := range r.Values() {
				if guard == nil {
					possible = append(possible, labels.Set{optInLabel: value})
				} else if value != optInEnabled && value != optInDisabled {
					denied = append(denied, value)
				}
			}
		}
		selectable := slices.ContainsFunc(possible, func(set labels.Set) bool {
			return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return !r.Matches(set) })
		})
		slices.Sort(denied)
		name := some(slices.Compact(denied))
		switch {
		case reported[name] || selectable && len(denied) == 0:
			continue
		case selectable:
			i.warning("opt-in-value", s.Ref, "it has the value %s of the label %s, which the ValidatingAdmissionPolicy %s denies: "+
				"no namespace can have it", name, optInLabel, guard.Name)
		case len(denied) > 0:
			i.error("opt-in-value", s.Ref, "it requires the label %s to be %s, which the ValidatingAdmissionPolicy %s denies: no "+
				"namespace can be selected", optInLabel, name, guard.Name)
		default:
			i.error("opt-in-value", s.Ref, "its requirements on the label %s contradict each other: no namespace can be selected",
				optInLabel)
		}
		reported[name] = true
	}
}
