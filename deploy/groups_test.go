package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// TestEveryBlockHasAGroup checks that a group of webhooks evaluates each block of the policy. If the webhooks of a
// block are missing, the user then reads which group to switch on.
func TestEveryBlockHasAGroup(t *testing.T) {
	for block := range (policy.Counts{}).All() {
		if block == "unique" { // no webhook evaluates it
			continue
		}
		doc := policy.Document{Entries: []policy.Entry{{Block: block, Mode: policy.Enforce}}}
		missing := MissingWebhooks(doc, func(string) bool { return false })
		if len(missing) != 1 {
			t.Errorf("%s: %+v", block, missing)
			continue
		}
		if names, on := missing[0].Groups(); names == "" || on == "" {
			t.Errorf("%s: no group has a path of %v", block, missing[0].Paths)
		}
	}
}

// TestGroupsAreSwitched checks that the components and the chart values in the texts of the groups exist, and that each
// webhook is in a group.
func TestGroupsAreSwitched(t *testing.T) {
	values, err := os.ReadFile("../charts/evergate/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, webhooks, _ := strings.Cut(string(values), "\nwebhooks:\n")
	component, value := regexp.MustCompile(`component (\S+)`), regexp.MustCompile(`value webhooks\.(\S+) to true$`)
	var paths []string
	for _, g := range webhookGroups() {
		off, on := component.FindStringSubmatch(g.off), component.FindStringSubmatch(g.on)
		key := value.FindStringSubmatch(g.on)
		if off == nil || on == nil || key == nil || off[1] != on[1] {
			t.Errorf("%s: %q, %q", g.name, g.off, g.on)
			continue
		}
		if _, err := os.Stat("../kustomize/components/" + on[1] + "/kustomization.yaml"); err != nil {
			t.Errorf("%s: %v", g.name, err)
		}
		if !regexp.MustCompile(`(?m)^  ` + key[1] + `: (true|false)$`).MatchString(webhooks) {
			t.Errorf("%s: the chart has no value webhooks.%s", g.name, key[1])
		}
		paths = append(paths, g.paths...)
	}
	for _, w := range admission.Webhooks() {
		again := w.Path == pathMutatePodsAgain || w.Path == pathValidateServiceStatus || w.Path == pathValidateWorkloads
		if !again && w.Path != "/validate/policy" && !slices.Contains(paths, w.Path) {
			t.Errorf("no group has the path %s", w.Path)
		}
	}
}

// TestMissingWebhooks checks which entries need a webhook that does not exist.
func TestMissingWebhooks(t *testing.T) {
	const text = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
services:
- {name: ports, mode: audit, types: {denied: [NodePort]}}
- {name: disabled, mode: "off", types: {denied: [NodePort]}}
- {name: in-a-set, mode: enforce, match: {set: edge}, types: {denied: [NodePort]}}
routes:
- {name: every-kind, mode: enforce, hosts: {wildcards: deny}}
- {name: only-openshift, mode: enforce, kinds: [Route], hosts: {wildcards: deny}}
- {name: both, mode: enforce, kinds: [Route, GRPCRoute], hosts: {wildcards: deny}}
exceptions:
- {name: ticket-1, rules: [ports], match: {namespaces: [a]}, until: 2030-01-31, reason: x}
`
	doc, err := policy.Describe(policy.File{Name: "policy.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	const set = "/validate/services/set/edge "
	for called, want := range map[string]string{
		"/validate/services /validate/routes /validate/openshiftroutes": "services in-a-set: \n",
		set + "/validate/services/status /validate/routes":              "routes only-openshift: OpenShift Routes\n",
		set + "/validate/services /validate/openshiftroutes":            "",
		set + "/validate/routes": "services ports: Ingresses and Services\n" +
			"routes only-openshift: OpenShift Routes\n",
		set + "/validate/services": "routes every-kind both: Gateway API and for OpenShift Routes\n" +
			"routes only-openshift: OpenShift Routes\n",
	} {
		var got strings.Builder
		for _, m := range MissingWebhooks(doc, func(path string) bool {
			return slices.Contains(strings.Fields(called), path)
		}) {
			got.WriteString(m.Block)
			for i := range m.Entries {
				got.WriteString(" " + m.Entries[i].Name)
			}
			names, _ := m.Groups()
			got.WriteString(": " + names + "\n")
		}
		if got.String() != want {
			t.Errorf("with %s: %q, want %q", called, got.String(), want)
		}
	}
}
