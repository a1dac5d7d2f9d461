// Package deploy finds problems that would break a cluster, in manifests that install Evergate or in a cluster that
// runs it.
//
// Package install joins the objects. An inspection has a function for each of them, in the order of a call:
//
//	hooks.go         the webhooks: the writes that they match, and how the API server calls them
//	needs.go         the webhooks that the policy needs; groups.go, templates.go
//	route.go         the way of a call to a Pod; network.go, dial.go
//	servers.go       the Pods; probes.go, pods.go for the admission of Pods, meshes.go
//	replicas.go      the Deployment
//	certificates.go  certificates and CAs
//	policies.go      the policy; guard.go, native.go
//
// findings.yaml has the texts of all findings, and report.go the report. The inspections are pure functions of the
// objects, the time and the answers in Options. Only Dial uses the network.
package deploy

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/deploy/install"
)

// Options has the input of the inspections besides the objects.
type Options struct {
	Now    time.Time           // the time at which certificates have to be valid
	Served []*x509.Certificate // the chain that the Service serves, leaf first, as Dial returns it; nil if it is not known

	// DryRuns are the known answers of an API server to the creation of a Pod of each Deployment that Serving returns.
	DryRuns []DryRun
}

// DryRun is the answer of an API server to the creation of a Pod of a Deployment as a dry run.
type DryRun struct {
	Deployment   string      // the name of the Deployment, in the namespace of Evergate
	Pod          *corev1.Pod // the Pod that the API server would create; nil if it rejects it
	Rejected     string      // the reason for which the API server rejects the Pod; empty if it would create it
	AsController bool        // as the account of the ReplicaSet controller, which creates these Pods
}

// Check inspects an installation. It returns an error if the objects do not have an Evergate webhook and are not, or
// may not be, an installation with only native policies, so there is nothing to inspect.
func Check(objects *install.Objects, o Options) (*Report, error) {
	joined, err := install.Join(objects)
	if err != nil {
		return nil, err
	}
	i := &inspection{Install: joined, Options: o, kinds: kinds()}
	for _, inspect := range []func(){
		i.settings, i.hooks, i.others, i.route, i.trust, i.needs, i.servers, i.replicas, i.certificates, i.policies,
		i.namespaces, i.native, i.bindings,
	} {
		inspect()
	}
	return i.result(), nil
}

// inspection collects the findings about an installation.
type inspection struct {
	*install.Install
	Options
	kinds []kind
	found []found
}

// found is a finding, and the parts of the object that it is about.
type found struct {
	at    install.Ref
	parts []string
	Finding
}

func (i *inspection) error(id string, at install.Ref, format string, args ...any) {
	i.add(id, Error, at, format, args...)
}

func (i *inspection) warning(id string, at install.Ref, format string, args ...any) {
	i.add(id, Warning, at, format, args...)
}

func (i *inspection) info(id string, at install.Ref, format string, args ...any) {
	i.add(id, Info, at, format, args...)
}

// add records a finding. A warning that the object accepts becomes an info. An error cannot be accepted. Findings with
// the same message about several parts of one object become one finding.
func (i *inspection) add(id string, s Severity, at install.Ref, format string, args ...any) {
	if s == Warning && slices.Contains(at.Accepts, id) {
		s, format = Info, format+" (accepted)"
	}
	k := i.kinds[i.rank(id)]
	f := Finding{
		ID: id, Severity: s, Source: at.Source, Message: fmt.Sprintf(format, args...), Why: k.Why, Fix: k.Fix,
	}
	same := slices.IndexFunc(i.found, func(other found) bool {
		whole, otherWhole := at.In(""), other.at.In("")
		return whole.String() == otherWhole.String() && at.Source == other.at.Source && at.Part != "" && other.at.Part != "" &&
			other.ID == id && other.Severity == s && other.Message == f.Message
	})
	if same < 0 {
		i.found = append(i.found, found{at, []string{at.Part}, f})
	} else if !slices.Contains(i.found[same].parts, at.Part) {
		i.found[same].parts = append(i.found[same].parts, at.Part)
	}
}

// rank returns the position of a finding in findings.yaml.
func (i *inspection) rank(id string) int {
	return slices.IndexFunc(i.kinds, func(k kind) bool { return k.ID == id })
}

// failed reports whether an error with one of the IDs has been found.
func (i *inspection) failed(ids ...string) bool {
	return slices.ContainsFunc(i.found, func(f found) bool { return f.Severity == Error && slices.Contains(ids, f.ID) })
}

// follows reports whether a finding would only be a consequence of an error that has been found. findings.yaml lists
// its causes in after. One cause is one finding.
func (i *inspection) follows(id string) bool {
	after := i.kinds[i.rank(id)].After
	return i.failed(after...) || slices.ContainsFunc(after, i.follows)
}
