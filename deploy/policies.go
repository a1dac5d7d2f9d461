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
		cm := i.PolicyMap
		if cm != nil {
			i.policyFiles(i.Ref(cm), "", install.VolumeFiles(cm, nil))
			i.load(i.Ref(cm), i.Files)
		}
		i.at("policy-missing", i.Anchor()).error(cm == nil && i.Live && !i.Unread("configmaps"),
			"there is no ConfigMap evergate-policy with the policy that the native policies were exported from")
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
		same := slices.ContainsFunc(i.found, func(f found) bool { return f.Message == message })
		i.at("policy", at).error(!same, "%s", message)
	}
}

// policyOf inspects whether --policy is in a mounted volume. If the input has its ConfigMap or is a live cluster, the
// ConfigMap has to be in the namespace of the Deployment.
func (i *inspection) policyOf(s *install.Server) {
	f, path := i.at("policy-missing", s.Process), s.Settings.Policy
	v, mount := s.VolumeAt(path)
	f.warn(path == "" && !s.Settings.RequirePolicy, "it has no --policy: every object is allowed")
	f.error(path != "" && v == nil, "--policy is %s, and no volume is mounted there", path)
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
		f.error(elsewhere != "",
			"the ConfigMap %s of its policy is in the namespace %s, from where no Pod of %s can mount it", mounted.Name,
			elsewhere, s.Namespace)
		f.error(elsewhere == "" && i.Live && !i.Unread("configmaps"), "there is no ConfigMap %s, which contains its policy",
			mounted.Name)
	}
	below := s.PolicyPath()
	contained := below == "" || slices.ContainsFunc(files, func(f policy.File) bool {
		return strings.HasPrefix(f.Name+"/", below+"/")
	})
	if !known || mount.SubPath+mount.SubPathExpr != "" { // see pod
		return
	}
	f.error(!contained, "--policy is %s, which is not in the volume; the volume contains: %s", path, fileNames(files))
	if contained {
		i.policyFiles(at, below, files)
	}
}

// policyFiles reports a volume whose files do not contain a policy with entries. path is --policy within the volume.
func (i *inspection) policyFiles(at install.Ref, path string, files []policy.File) {
	f, loaded := i.at("policy-missing", at), install.Loaded(path, files)
	p, err := policy.Load(loaded...)
	f.error(len(loaded) == 0, "evergate serve loads only files directly in --policy whose names end in .yaml or .yml and "+
		"do not begin with a dot, and the volume contains: %s", fileNames(files))
	f.error(len(loaded) > 0 && err == nil && p.Emptied(), "its policy has no entries: every object is allowed")
}

// fileNames lists the names of files.
func fileNames(files []policy.File) string {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
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
		switch {
		case !install.Live(ns):
		case !left && len(scopes) > 0:
			covered = append(covered, ns.Name)
		case ns.Labels[optInLabel] == optInEnabled:
			i.at("coverage", i.Ref(ns)).warn(true, "it has opted in, and is not covered")
		case !slices.Contains(protected, ns.Name):
			not = append(not, ns.Name)
		}
	}
	f, known := i.at("coverage", i.Anchor().In("namespaces")), len(covered)+len(not) > 0
	f.add(known, Info, "%d covered: %s", len(covered), some(covered))
	f.add(known, Info, "%d not covered: %s", len(not), some(not))
}

// mirrors inspects whether images are rewritten in a namespace in which their mirror runs. A mirror runs in a namespace
// if its registry is a Service there (name.namespace.svc) or the host of an Ingress there.
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
	places := install.Filter(i.Policy.MirrorPlaces(), func(place string) bool {
		registry, _, _ := strings.Cut(place, "/")
		host, _, _ := strings.Cut(registry, ":")
		parts := strings.Split(host, ".")
		return hosts[strings.ToLower(host)] || len(parts) > 2 && parts[2] == "svc" && parts[1] == ns.Name
	})
	i.at("mirror-namespace", i.Ref(ns)).error(len(places) > 0, "its images are rewritten to a registry that runs in this "+
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
			i.at("rbac", at).error(subject.Kind == rbacv1.ServiceAccountKind && serves, "it binds %s %s to the ServiceAccount "+
				"%s, which serves and does not need permissions", role.Kind, role.Name, subject.Name)
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

// optIn inspects the values of the opt-in label in the selectors, and the two policies that guard it. They have to
// equal the policies of kustomize/base, so their expressions are not read.
func (i *inspection) optIn() {
	const id = "opt-in-guard"
	label, names, exempt := i.guard(id, "evergate-opt-in"), i.guard(id, "evergate-exempt-namespaces"), i.Exempt()
	unguarded, impossible := label == nil, true // each reported once
	for _, s := range i.Scopes() {
		requirements := install.RequirementsOn(s.Selector, optInLabel)
		i.at(id, s.Ref).warn(unguarded && len(requirements) > 0,
			"it selects namespaces by the label %s, which no ValidatingAdmissionPolicy guards", optInLabel)
		unguarded = unguarded && len(requirements) == 0
		possible := []labels.Set{{}, {optInLabel: optInEnabled}, {optInLabel: optInDisabled}} // with the guard
		var terms []string
		for _, r := range requirements {
			terms = append(terms, r.String())
			for value := range r.Values() {
				if label == nil {
					possible = append(possible, labels.Set{optInLabel: value})
				}
			}
		}
		none := !slices.ContainsFunc(possible, func(set labels.Set) bool {
			return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return !r.Matches(set) })
		})
		i.at("opt-in-value", s.Ref).error(impossible && none, "no namespace can be selected: no value that the label may "+
			"have satisfies %s", strings.Join(terms, ","))
		impossible = impossible && !none
	}
	if names == nil {
		i.at(id, i.Anchor()).warn(len(exempt) > 0,
			"it excludes namespaces by name, whose creation no ValidatingAdmissionPolicy guards: %s", some(exempt))
		return
	}
	selector := cmp.Or(names.Spec.MatchConstraints, &admissionv1.MatchResources{}).NamespaceSelector
	open := install.Filter(exempt, func(name string) bool {
		return !install.Selects(selector, map[string]string{corev1.LabelMetadataName: name})
	})
	i.at(id, i.Ref(names)).warn(len(open) > 0, "webhooks exclude namespaces whose creation it does not guard: %s",
		some(open))
}

// guard returns a policy of kustomize/base that is in the input, or nil. It reports a policy that is weaker or has no
// effect. The wiring of the manifests sets the namespaceSelector.
func (i *inspection) guard(id, name string) *admissionv1.ValidatingAdmissionPolicy {
	is := install.Find[*admissionv1.ValidatingAdmissionPolicy](i.Objects, "", name)
	if is == nil {
		return nil
	}
	f, constraints := i.at(id, i.Ref(is)), cmp.Or(is.Spec.MatchConstraints, &admissionv1.MatchResources{})
	narrow := len(is.Spec.MatchConditions)+len(constraints.ExcludeResourceRules) > 0 ||
		!install.SelectsAll(constraints.ObjectSelector)
	for document := range bytes.SplitSeq(kustomize.OptInGuard, []byte("\n---\n")) {
		var want admissionv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal(document, &want); err == nil && want.Kind == is.Kind && want.Name == name {
			want.Spec.MatchConstraints.NamespaceSelector = nil
			for n, v := range want.Spec.Validations { // without messages
				want.Spec.Validations[n] = admissionv1.Validation{Expression: v.Expression}
			}
			f.warn(narrow || !equality.Semantic.DeepDerivative(want.Spec, is.Spec),
				"it differs from kustomize/base of this version")
		}
	}
	denies := slices.ContainsFunc(install.Of[*admissionv1.ValidatingAdmissionPolicyBinding](i.Objects),
		func(b *admissionv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Spec.PolicyName == name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
		})
	f.warn(!denies, "it has no ValidatingAdmissionPolicyBinding that denies")
	return is
}
