// Package deploy finds problems that would break a cluster, in manifests that install Evergate or in a cluster that
// runs it.
//
// Package install joins the objects. An inspection has a function for each of them, in the order of a call (see Check).
// findings.yaml has the texts of all findings. The inspections are pure functions of the objects and of Options. Only
// Dial uses the network.
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
	Now     time.Time           // the time at which certificates have to be valid
	Served  []*x509.Certificate // the chain that the Service serves, as Dial returns it; nil if it is not known
	DryRuns map[string]DryRun   // the answers to the creation of a Pod of a Deployment, by its name
	Answers map[string]Answer   // of the webhooks to a dry run with the annotation evergate.dev/hello, by their names
}

// Answer is the answer of a webhook to a dry run that calls it. All fields are empty if the API server accepts the dry
// run without an answer of the webhook.
type Answer struct {
	Policy    string // the hash of the policy that the webhook has
	Failed    string // the error of the call
	NotCalled string // why it was not called
}

// DryRun is the answer of an API server to the creation of a Pod of a Deployment as a dry run. It is empty if the
// answer is not known.
type DryRun struct {
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
		i.calls, i.settings, i.hooks, i.others, i.route, i.trust, i.needs, i.servers, i.replicas, i.certificates, i.policies,
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

// spot is an object, or a part of it, that an inspection is about, and the ID of its findings.
type spot struct {
	i  *inspection
	id string
	at install.Ref
}

func (i *inspection) at(id string, at install.Ref) spot { return spot{i, id, at} }

// error reports an error if the condition holds. The arguments are evaluated in any case.
func (s spot) error(wrong bool, format string, args ...any) { s.add(wrong, Error, format, args...) }

// warn reports a warning if the condition holds. The arguments are evaluated in any case.
func (s spot) warn(wrong bool, format string, args ...any) { s.add(wrong, Warning, format, args...) }

// add records a finding if the condition holds. A warning that the object accepts becomes an info. An error cannot be
// accepted. Findings with the same message about several parts of one object become one finding.
func (s spot) add(wrong bool, severity Severity, format string, args ...any) {
	if !wrong {
		return
	}
	if severity == Warning && slices.Contains(s.at.Accepts, s.id) {
		severity, format = Info, format+" (accepted)"
	}
	k := s.i.kinds[s.i.rank(s.id)]
	f := Finding{ID: s.id, Severity: severity, Source: s.at.Source, Why: k.Why, Fix: k.Fix}
	f.Message = printable(fmt.Sprintf(format, args...))
	same := slices.IndexFunc(s.i.found, func(other found) bool {
		same := other.at.In("").String() == s.at.In("").String()
		return same && other.at.Part != "" && s.at.Part != "" && other.Finding == f
	})
	if same < 0 {
		s.i.found = append(s.i.found, found{s.at, []string{s.at.Part}, f})
	} else if !slices.Contains(s.i.found[same].parts, s.at.Part) {
		s.i.found[same].parts = append(s.i.found[same].parts, s.at.Part)
	}
}

// rank returns the position of a finding in findings.yaml.
func (i *inspection) rank(id string) int {
	return slices.IndexFunc(i.kinds, func(k kind) bool { return k.ID == id })
}

// follows reports whether a finding would only be a consequence of an error that has been found. findings.yaml lists
// its causes in after. One cause is one finding.
func (i *inspection) follows(id string) bool {
	return slices.ContainsFunc(i.kinds[i.rank(id)].After, func(cause string) bool {
		return i.follows(cause) ||
			slices.ContainsFunc(i.found, func(f found) bool { return f.ID == cause && f.Severity == Error })
	})
}
