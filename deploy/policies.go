package deploy

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/evergate/evergate/deploy/install"
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
	switch {
	case path == "" && s.Settings.RequirePolicy: // see flags
		return
	case path == "":
		i.warning(id, s.Process, "it has no --policy: every object is allowed")
		return
	case v == nil:
		i.error(id, s.Process, "--policy is %s, and no volume is mounted there", path)
		return
	}
	at, files := s.Process, []policy.File(nil)
	mounts, known := s.PolicyMaps()
	for _, mounted := range mounts {
		cm := install.Find[*corev1.ConfigMap](i.Objects, s.Namespace, mounted.Name)
		if cm != nil {
			at, files = i.Ref(cm), append(files, install.VolumeFiles(cm, mounted.Items)...)
			continue
		}
		known = false
		elsewhere := install.Filter(install.Of[*corev1.ConfigMap](i.Objects), func(cm *corev1.ConfigMap) bool {
			return cm.Name == mounted.Name
		})
		switch {
		case len(elsewhere) > 0:
			i.error(id, s.Process, "the ConfigMap %s of its policy is in the namespace %s, from where no Pod of %s can mount it",
				mounted.Name, elsewhere[0].Namespace, s.Namespace)
		case i.Live && !i.Unread("configmaps"):
			i.error(id, s.Process, "there is no ConfigMap %s, which contains its policy", mounted.Name)
		}
	}
	below := s.PolicyPath()
	contained := func(f policy.File) bool { return strings.HasPrefix(f.Name+"/", below+"/") }
	switch {
	case !known || mount.SubPath+mount.SubPathExpr != "": // see pod
	case below != "" && !slices.ContainsFunc(files, contained):
		i.error(id, s.Process, "--policy is %s, which is not in the volume; the volume contains: %s", path, fileNames(files))
	default:
		i.policyFiles(at, below, files)
	}
}

// policyFiles reports a volume whose files do not contain a policy with entries. path is --policy within the volume.
func (i *inspection) policyFiles(at install.Ref, path string, files []policy.File) {
	loaded := install.Loaded(path, files)
	if len(loaded) == 0 {
		i.error("policy-missing", at, "evergate serve loads only files directly in --policy whose names end in .yaml or .yml and "+
			"do not begin with a dot, and the volume contains: %s", fileNames(files))
		return
	}
	if p, err := policy.Load(loaded...); err == nil && p.Emptied() {
		i.error("policy-missing", at, "its policy has no entries: every object is allowed")
	}
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
		i.info("coverage", at, "%d covered: %s", len(covered), some(covered))
		i.info("coverage", at, "%d not covered: %s", len(not), some(not))
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
	if len(places) > 0 {
		i.error("mirror-namespace", i.Ref(ns), "its images are rewritten to a registry that runs in this namespace: %s",
			some(places))
	}
}

// rewrites reports whether a webhook or a native policy rewrites Pod images in a namespace with these labels.
func (i *inspection) rewrites(set map[string]string) bool {
	for _, h := range i.Hooks {
		if h.Mutating && h.CreatesPods() && install.Selects(h.NamespaceSelector, set) {
			return true
		}
	}
	for _, p := range i.Native.Policies() {
		for _, b := range i.Native.Bindings(&p) {
			if p.Mutates() && install.Selects(b.Namespaces(), set) {
				return true
			}
		}
	}
	return false
}

// bindings inspects whether a role is bound to the ServiceAccount of a serving process, which never calls the API
// server.
func (i *inspection) bindings() {
	check := func(at install.Ref, namespace string, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
		for _, subject := range subjects {
			if subject.Namespace != "" {
				namespace = subject.Namespace
			}
			serves := slices.ContainsFunc(i.Servers, func(s *install.Server) bool {
				account := s.Pod.ServiceAccountName
				return s.Namespace == namespace && (account == subject.Name || account == "" && subject.Name == "default")
			})
			if subject.Kind == rbacv1.ServiceAccountKind && serves {
				i.error("rbac", at, "it binds %s %s to the ServiceAccount %s, which serves and does not need permissions", role.Kind,
					role.Name, subject.Name)
			}
		}
	}
	for _, b := range install.Of[*rbacv1.RoleBinding](i.Objects) {
		check(i.Ref(b), b.Namespace, b.RoleRef, b.Subjects)
	}
	for _, b := range install.Of[*rbacv1.ClusterRoleBinding](i.Objects) {
		check(i.Ref(b), "", b.RoleRef, b.Subjects)
	}
}
