// Package deploy finds what would break a cluster, in the manifests that install Evergate or in a cluster that runs it.
//
// The way through it:
//
//	manifest.go      JSON → objects of Kubernetes' and cert-manager's types (strictly decoded) → Inventory; fields.go
//	                 what is said of a field that cannot be decoded
//	cluster.go       what belongs to Evergate, and how it hangs together; nodes.go, policy_files.go
//	hook.go          a webhook, mutating or validating; webhook_url.go the server that it calls; selector.go
//	server.go        a Deployment that runs evergate serve; environment.go its variables; probe.go its probes
//	network.go       what NetworkPolicies allow; monitor.go what scrapes the Pods; chain.go certificates that are served
//	dry_run.go       the answers of an API server to dry runs of Pods
//	backstop.go      the native policies beside the webhooks
//	endpoint.go      where traces go; resources.go what quotas count; pod_security.go what profiles refuse
//	check.go         what a check is; premise.go what has to hold for it to be run; checks.go lists all of them, in the
//	                 order in which they report
//	check_ID.go      the check that reports findings with the id ID, its dashes as underscores
//	finding.go       what a check says; text.go the report for people, cases.go for pipelines
//
// Checks are pure functions of the Inventory, the time and the certificates that were served: only Dial
// uses the network. docs/preflight.md lists every check.
package deploy

import (
	"crypto/x509"
	"slices"
	"time"
)

// Options is what the checks need besides the objects.
type Options struct {
	Now    time.Time           // for which certificates are judged
	Served []*x509.Certificate // the chain that the Service serves, leaf first, as Dial returns it; nil: not known

	// DryRuns are the answers of an API server to the creation of a Pod of each Deployment that Inventory.Serving returns,
	// as far as they are known.
	DryRuns []DryRun
}

// Check runs all checks. The error says that there is nothing to check: no webhook of Evergate is in the inventory.
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
	return newReport(inv.count(), checked, findings), nil
}
