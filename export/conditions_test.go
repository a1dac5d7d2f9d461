package export

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A webhook need not be called where all of its entries are native and enforced. Each reason why it has to be is said.
func TestWebhookUses(t *testing.T) {
	const (
		mirrors = "mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example}]\n"
		pods    = "pods: [{name: p, mode: enforce, images: {digest: required}}]\n"
		service = "services: [{name: s, mode: enforce, types: {denied: [NodePort]}}]\n"
		none    = "no entry of ingresses is in force"
		counted = "pods q is in mode warn, and only the webhook counts what it finds"
		audited = "services s is in mode audit, and only the webhook counts what it finds"
		noVAP   = "the target vap is not exported"
		noMAP   = "the target map is not exported"
		hosts   = "services s is not native as a whole: hosts: annotations that name hosts have grammars of their own"
		owners  = "owners o is not native as a whole: it: entries of owners are not said natively"
	)
	both, vap := Options{Targets: []Target{VAP, MAP}}, Options{Targets: []Target{VAP}}
	for name, test := range map[string]struct {
		text    string
		options Options
		want    map[string]string // why each is called; those that are not listed are not
	}{
		"all native": {mirrors + pods + service, both, map[string]string{"ingresses.validate": none}},
		"as files": {
			mirrors + pods + service, Options{Targets: []Target{Static}, Exempt: ExemptNamespaces()},
			map[string]string{"ingresses.validate": none},
		},
		"without map": {mirrors + pods + service, vap, map[string]string{
			"pods.mutate": noMAP, "again.pods.mutate": noMAP,
			"ingresses.validate": none,
		}},
		"no vap": {mirrors + pods + service, Options{Targets: []Target{MAP}}, map[string]string{
			"pods.validate": noVAP, "services.validate": noVAP,
			"loadbalancerstatus.validate": noVAP, "ingresses.validate": noVAP,
		}},
		"only in part": {
			"services: [{name: s, mode: enforce, types: {denied: [NodePort]}, hosts: {allowed: []}}]\n" +
				pods[:len(pods)-2] + `, {name: q, mode: "off", images: {digest: required}}]`,
			both,
			map[string]string{
				"pods.mutate": "no entry of mirrors is in force", "again.pods.mutate": "no entry of mirrors is in force",
				"services.validate":           hosts,
				"loadbalancerstatus.validate": hosts,
				"ingresses.validate":          none,
			},
		},
		"warned of and counted": {
			mirrors + pods[:len(pods)-2] + ", {name: q, mode: warn, images: {digest: required}}]\n" +
				"services: [{name: s, mode: audit, types: {denied: [NodePort]}}]\n", both,
			map[string]string{
				"pods.mutate":                 counted,
				"again.pods.mutate":           counted,
				"pods.validate":               counted,
				"services.validate":           audited,
				"loadbalancerstatus.validate": audited,
				"ingresses.validate":          none,
			},
		},
		"owners": {
			"services: [{name: s, mode: enforce, types: {denied: [NodePort]}}]\n" +
				"owners: [{name: o, mode: enforce, hosts: [a.example], namespaces: [x]}]\n" +
				"ingresses: [{name: i, mode: enforce, tls: {required: true}}]\n", vap,
			map[string]string{
				"pods.mutate": noMAP, "again.pods.mutate": noMAP,
				"pods.validate": "no entry of pods is in force", "services.validate": owners,
				"loadbalancerstatus.validate": owners,
				"ingresses.validate":          owners,
			},
		},
		"set apart by an exception": {
			pods + "exceptions: [{name: ticket, rules: [p/*], match: {namespaces: [x]}, until: 2030-01-01, reason: why}]\n",
			vap,
			map[string]string{
				"pods.mutate": noMAP, "again.pods.mutate": noMAP,
				"pods.validate": "pods p is not native as a whole: it: the exception ticket is about it until a date, and the " +
					"API server's expressions have no clock",
				"services.validate":           "no entry of services is in force",
				"loadbalancerstatus.validate": "no entry of services is in force",
				"ingresses.validate":          none,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, u := range WebhookUses(describe(t, test.text), test.options) {
				if u.Called != "" {
					got[strings.TrimSuffix(u.Name, ".evergate.dev")] = u.Called
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The patches name the webhooks that are not called, and comments the others.
func TestConditionPatches(t *testing.T) {
	uses := WebhookUses(describe(t, `mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example}]
pods: [{name: p, mode: enforce, images: {from: mirrors}}]
services: [{name: s, mode: audit, types: {denied: [NodePort]}}]
`), Options{Targets: []Target{VAP, MAP}})
	patches, err := ConditionPatches(uses, "0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "conditions.yaml", patches)
}
