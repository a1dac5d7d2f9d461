// Package deploy finds problems that would break a cluster, in manifests that install Evergate or in a cluster that
// runs it.
//
// The files, in the order of the data flow:
//
//	manifest.go      JSON → objects of Kubernetes' and cert-manager's types (strictly decoded) → Inventory; fields.go
//	                 errors for fields that cannot be decoded
//	cluster.go       the objects of Evergate and their relations; nodes.go, policy_files.go, issuer.go
//	hook.go          a webhook, mutating or validating; webhook_url.go the server that it calls; selector.go;
//	                 webhook_groups.go the groups of webhooks that components switch, and the entries that need them
//	server.go        a Deployment that runs evergate serve; environment.go its variables; probe.go its probes
//	network.go       the traffic that NetworkPolicies allow; monitor.go monitors; chain.go served certificates
//	dry_run.go       the answers of an API server to dry runs of Pods
//	backstop.go      the native policies next to the webhooks; native_only.go installations without webhooks
//	endpoint.go      the destination of traces; resources.go the amounts that quotas count; pod_security.go the rules of
//	                 the Pod Security profiles
//	check.go         the type of a check; premise.go the conditions for running it; checks.go all checks, in the order
//	                 in which they report
//	check_ID.go      the check that reports findings with the id ID, with underscores for dashes
//	finding.go       the findings; text.go the report for people, cases.go for pipelines
//
// Checks are pure functions of the Inventory, the time and the served certificates. Only Dial uses the network.
// docs/preflight.md lists every check.
package deploy

import (
	"crypto/x509"
	"slices"
	"time"
)

// Options has the input of the checks besides the objects.
type Options struct {
	Now    time.Time           // the time at which certificates have to be valid
	Served []*x509.Certificate // the chain that the Service serves, leaf first, as Dial returns it; nil if it is not known

	// DryRuns are the known answers of an API server to the creation of a Pod of each Deployment that Inventory.Serving
	// returns.
	DryRuns []DryRun
}

// Check runs all checks. It returns an error if the inventory does not have an Evergate webhook and is not, or may not
// be, an installation with only native policies, so there is nothing to check.
func Check(inv *Inventory, o Options) (*Report, error) {
	c, err := newCluster(inv, o)
	if err != nil {
		return nil, err
	}
	findings, checked := []Finding{}, []string(nil)
	answered := c.answered()
	for _, check := range checks() {
		if check.modelled && answered {
			continue
		}
		if slices.ContainsFunc(check.needs, func(p premise) bool { return !p.holds(c) }) {
			continue
		}
		checked = append(checked, check.id)
		r := reporter{check: &check}
		check.run(c, &r)
		findings = append(findings, r.findings()...)
	}
	findings = append(findings, c.changedPods(o)...)
	return newReport(inv, checked, findings), nil
}
