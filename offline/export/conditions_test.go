package export

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evergate/evergate/policy"
)

// A webhook does not have to be called if all of its entries are native and enforced. Otherwise, the reason is
// reported.
func TestWebhookUses(t *testing.T) {
	const (
		mirrors  = "mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example}]\n"
		pods     = "pods: [{name: p, mode: enforce, images: {digest: required}}]\n"
		service  = "services: [{name: s, mode: enforce, types: {denied: [NodePort]}}]\n"
		ingress  = "ingresses: [{name: i, mode: enforce, tls: {required: true}}]\n"
		routes   = "routes: [{name: r, mode: enforce, hosts: {required: true}}]\n"
		gateways = "gateways: [{name: g, mode: enforce, protocols: {allowed: [TLS]}}]\n"
		counted  = "pods q is in mode warn, and only the webhook counts its findings"
		audited  = "services s is in mode audit, and only the webhook counts its findings"
		noVAP    = "the target vap is not exported"
		noMAP    = "the target map is not exported"
		names    = "services s is not completely native: externalNames: the API server does not have a list of " +
			"public top-level domains"
		hosts = "ingresses i is not completely native: hosts: CEL cannot read the hosts in the " +
			"annotation alb.ingress.kubernetes.io/conditions.*"
		dated = "routes r is not completely native: the entry: exceptions ticket: it ends on " +
			"2030-01-01, and CEL has no clock"
		originals = "mirrors hub is not completely native: the entry: exceptions ticket: it ends on " +
			"2030-01-01, and CEL has no clock"
		owners = "owners o is not completely native: the entry: entries of owners are not supported natively"
	)
	both, vap := Options{Targets: []Target{VAP, MAP}}, Options{Targets: []Target{VAP}}
	for name, test := range map[string]struct {
		text    string
		options Options
		want    map[string]string // the reason for each webhook that is called
	}{
		"all native": {mirrors + pods + service + ingress + routes + gateways, both, nil},
		"as files": {
			mirrors + pods + service + ingress + routes + gateways,
			Options{Targets: []Target{Static}, Exempt: ExemptNamespaces()}, nil,
		},
		"without map": {mirrors + pods + service, vap, map[string]string{"pods.mutate": noMAP, "again.pods.mutate": noMAP}},
		"no vap": {mirrors + pods + service, Options{Targets: []Target{MAP}}, map[string]string{
			"pods.validate": noVAP, "services.validate": noVAP, "loadbalancerstatus.validate": noVAP,
			"ingresses.validate": noVAP, "routes.validate": noVAP, "gateways.validate": noVAP,
		}},
		"only in part": {
			"services: [{name: s, mode: enforce, types: {denied: [NodePort]}, externalNames: {}}]\n" +
				"ingresses: [{name: i, mode: enforce, tls: {required: true}, hosts: {allowed: []}}]\n" +
				pods[:len(pods)-2] + `, {name: q, mode: "off", images: {digest: required}}]`,
			both,
			map[string]string{"services.validate": names, "loadbalancerstatus.validate": names, "ingresses.validate": hosts},
		},
		"warned of and counted": {
			mirrors + pods[:len(pods)-2] + ", {name: q, mode: warn, images: {digest: required}}]\n" +
				"services: [{name: s, mode: audit, types: {denied: [NodePort]}}]\n" +
				"routes: [{name: r, mode: enforce, kinds: [HTTPRoute], hosts: {required: true}}, " +
				"{name: w, mode: warn, kinds: [TLSRoute], hosts: {required: true}}]\n", both,
			map[string]string{
				"pods.mutate": counted, "again.pods.mutate": counted, "pods.validate": counted,
				"services.validate": audited, "loadbalancerstatus.validate": audited,
				"routes.validate": "routes w is in mode warn, and only the webhook counts its findings",
			},
		},
		"owners": {
			service + ingress + routes + gateways +
				"owners: [{name: o, mode: enforce, hosts: [a.example], namespaces: [x]}]\n", both,
			map[string]string{
				"services.validate": owners, "loadbalancerstatus.validate": owners, "ingresses.validate": owners,
				"routes.validate": owners, "gateways.validate": owners,
			},
		},
		"mirrors that have ended": {
			mirrors[:len(mirrors)-2] + ", {name: trial, mode: warn, sources: [quay.io], mirror: q.example, until: 2030-01-01}]\n",
			Options{Targets: both.Targets, Now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}, nil,
		},
		"set apart by an exception": {
			pods + routes +
				"exceptions: [{name: ticket, rules: [r/*], match: {namespaces: [x]}, until: 2030-01-01, reason: why}]\n",
			both, map[string]string{"routes.validate": dated},
		},
		"originals, and no native rule about them": {
			mirrors + "pods: [{name: p, mode: enforce, images: {denied: [docker.io/evil]}}]\n" +
				"exceptions: [{name: ticket, rules: [p], match: {namespaces: [x]}, until: 2030-01-01, reason: why}]\n",
			Options{Targets: []Target{MAP}}, map[string]string{
				"pods.mutate": originals, "again.pods.mutate": originals, "pods.validate": noVAP,
				"services.validate": noVAP, "loadbalancerstatus.validate": noVAP, "ingresses.validate": noVAP,
				"routes.validate": noVAP, "gateways.validate": noVAP,
			},
		},
		// OpenShift Routes have their own webhook, which is always called. The webhook of the other routes does not
		// apply to them.
		"Routes of OpenShift": {
			"routes: [{name: r, mode: enforce, kinds: [HTTPRoute, Route], hosts: {required: true}}, " +
				"{name: s, mode: warn, kinds: [Route], hosts: {required: true}}]\n", both, nil,
		},
		"Routes of OpenShift alone": {
			"routes: [{name: r, mode: enforce, kinds: [Route], hosts: {required: true}}]\n", both, nil,
		},
		"what has no native kind": {
			routes + "grants: [{name: n, mode: enforce, to: {names: required}}]\n", both, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc := describe(t, test.text)
			got := map[string]string{}
			for _, u := range WebhookUses(doc, test.options) {
				hook := strings.TrimSuffix(u.Name, ".evergate.dev")
				if u.Called == "no entry of "+u.block+" is active" {
					if inForce(doc, u.block) {
						t.Errorf("%s: %s", hook, u.Called)
					}
					continue
				}
				if u.Called != "" {
					got[hook] = u.Called
				}
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// inForce reports whether a block has an active entry that does not only apply to OpenShift Routes.
func inForce(doc policy.Document, block string) bool {
	return slices.ContainsFunc(doc.Entries, func(e policy.Entry) bool {
		return e.Block == block && e.Mode != policy.Off && !slices.Equal(texts(e.Fields["kinds"]), []string{"Route"})
	})
}

// The patches contain the webhooks that are not called, and comments about the others.
func TestConditionPatches(t *testing.T) {
	uses := WebhookUses(describe(t, `mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example}]
pods: [{name: p, mode: enforce, images: {from: mirrors}}]
services: [{name: s, mode: audit, types: {denied: [NodePort]}}]
routes: [{name: r, mode: enforce, hosts: {required: true}}]
`), Options{Targets: []Target{VAP, MAP}})
	patches, err := ConditionPatches(uses, "0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "conditions.yaml", patches)
}
