package deploy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// webhookGroup is a group of webhooks that a component of the manifests and a value of the Helm chart switch.
type webhookGroup struct {
	name    string
	off, on string // how to switch the group off and on
	paths   []string
}

func webhookGroups() []webhookGroup {
	group := func(name, component, value string, paths ...string) webhookGroup {
		return webhookGroup{
			name, "add the component " + component,
			"remove the component " + component + " or set the chart value webhooks." + value + " to true", paths,
		}
	}
	addOns := group("add-ons", "host-kinds", "addOns", "/validate/certificates", "/validate/dnsendpoints")
	addOns.off, addOns.on = "leave the component host-kinds out", strings.Replace(addOns.on, "remove", "add", 1)
	return []webhookGroup{
		group("Pods and mirrors", "no-pods", "pods", "/mutate/pods", "/validate/pods"),
		group("Ingresses and Services", "no-ingresses", "ingressesAndServices", "/validate/ingresses",
			"/validate/services"),
		group("Gateway API", "no-gateway-api", "gatewayAPI", "/validate/routes", "/validate/gateways", "/validate/grants"),
		group("OpenShift Routes", "no-openshift-routes", "openshiftRoutes", "/validate/openshiftroutes"),
		addOns,
	}
}

// MissingWebhook is a block of a policy with entries that need a webhook that does not exist.
type MissingWebhook struct {
	Block   string
	Entries []policy.Entry
	// Paths are the paths that evaluate the entries, or rewrite by them. No webhook calls any of them.
	Paths []string
}

// MissingWebhooks returns the entries of a policy for which no webhook calls a path that evaluates them. Entries for
// different kinds of routes are separate results. It leaves out entries that are off and entries in rule sets. called
// reports whether a webhook calls a path.
func MissingWebhooks(doc policy.Document, called func(path string) bool) []MissingWebhook {
	var all []MissingWebhook
	for i := range doc.Entries {
		e := &doc.Entries[i]
		match, _ := e.Fields["match"].(policy.Fields)
		paths := pathsOfEntry(e)
		if e.Mode == policy.Off || match["set"] != nil || len(paths) == 0 || slices.ContainsFunc(paths, called) {
			continue
		}
		at := slices.IndexFunc(all, func(m MissingWebhook) bool {
			return m.Block == e.Block && slices.Equal(m.Paths, paths)
		})
		if at < 0 {
			at = len(all)
			all = append(all, MissingWebhook{Block: e.Block, Paths: paths})
		}
		all[at].Entries = append(all[at].Entries, *e)
	}
	return all
}

// Groups returns the names of the groups of webhooks that evaluate the entries, and how to switch a group on.
func (m *MissingWebhook) Groups() (names, on string) {
	var named, fixes []string
	for _, g := range webhookGroups() {
		if slices.ContainsFunc(g.paths, func(path string) bool { return slices.Contains(m.Paths, path) }) {
			named, fixes = append(named, g.name), append(fixes, g.on)
		}
	}
	return strings.Join(named, " and for "), strings.Join(fixes, ", or ")
}

// pathsOfEntry lists the paths that evaluate, or rewrite by, an entry. It returns nil for exceptions.
func pathsOfEntry(e *policy.Entry) []string {
	kinds, _ := e.Fields["kinds"].([]any) // only routes have this field
	var paths []string
	for _, w := range admission.Webhooks() {
		applies := len(kinds) == 0
		for _, k := range w.Kinds {
			applies = applies || slices.Contains(kinds, any(k.Name))
		}
		if applies && slices.Contains(w.Blocks, e.Block) {
			paths = append(paths, w.Path)
		}
	}
	return paths
}
