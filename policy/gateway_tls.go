package policy

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// These are the values of spec.listeners[].tls.mode.
const (
	terminate   tlsMode = "Terminate"
	passthrough tlsMode = "Passthrough"
)

// tlsMode is a value of spec.listeners[].tls.mode.
type tlsMode string

// UnmarshalText accepts the two modes of the API.
func (m *tlsMode) UnmarshalText(b []byte) error {
	return rule.ReadWord(m, b, "a mode of TLS", terminate, passthrough)
}

// gatewayTLSRules is the tls field of a gateways entry: {modes: [Terminate], crossNamespaceRefs: deny}. The protocol of
// a listener determines whether it serves TLS: see protocolRules.
type gatewayTLSRules struct {
	// Modes lists the modes that listeners with TLS may have. [] denies every mode.
	Modes []tlsMode `yaml:"modes"`
	// CrossNamespaceRefs: deny means that certificates and authorities must be in the namespace of the object. A
	// ReferenceGrant does not change this.
	CrossNamespaceRefs rule.Denial `yaml:"crossNamespaceRefs"`
}

func (b *gatewayTLSRules) Validate() error {
	return rule.RejectNone(b.checks(), "modes or crossNamespaceRefs: deny")
}

func (b *gatewayTLSRules) checks() []rule.Check[gatewayView] {
	return rule.Checks(
		rule.When(b.Modes != nil, tlsModes{b.Modes, rule.Passing(b.Modes)}),
		rule.When(b.CrossNamespaceRefs, crossNamespaceRefs{}),
	)
}

// tlsModes (tls.modes) finds each listener with TLS whose tls.mode is not listed. An absent mode means Terminate. A
// listener has TLS if it has the tls field, or if its protocol is HTTPS or TLS. A finding is identified by the
// listener.
type tlsModes struct {
	modes   []tlsMode
	passing string
}

func (c tlsModes) Find(g *gatewayView, r *rule.Recorder) {
	for i, l := range g.listeners(r) {
		mode, ok := tlsModeOf(l)
		if !ok || slices.Contains(c.modes, mode) {
			continue
		}
		if f := r.TryAdd(listenerIdentity(l, "tls.modes", string(mode))); f != nil {
			f.Path, f.Reason = listenerPath(i, "tls.mode"), text.Quote(string(mode))+" is not allowed"+c.passing
		}
	}
}

// tlsModeOf returns tls.mode with the default of the API. ok is false if the listener does not have TLS.
func tlsModeOf(l *object.Listener) (mode tlsMode, ok bool) {
	switch {
	case l.TLS != nil && l.TLS.Mode != "":
		return tlsMode(l.TLS.Mode), true
	case l.TLS != nil, l.Protocol == "HTTPS", l.Protocol == "TLS":
		return terminate, true
	}
	return "", false
}

// crossNamespaceRefs (tls.crossNamespaceRefs) finds each reference to a certificate or a client certificate authority
// in another namespace than the object. It checks the tls field of the listeners and spec.tls of a Gateway. If the
// request has no namespace, it finds every reference with a namespace.
type crossNamespaceRefs struct{}

func (crossNamespaceRefs) Find(g *gatewayView, r *rule.Recorder) {
	for path, ref := range g.certificateRefs() {
		if !r.Spend(rule.StepsOf(1, ref.Namespace)) {
			return
		}
		if ref.Namespace == "" || ref.Namespace == r.Subject.Namespace {
			continue
		}
		id := rule.Identity{Check: "tls.crossNamespaceRefs", Value: ref.Namespace, Detail: ref.Name, Use: path.list}
		if f := r.TryAdd(id); f != nil {
			f.Path = path.String() + ".namespace"
			f.Reason = text.Quote(ref.Namespace) + " is another namespace, which is denied; refer to one of the same namespace"
		}
	}
}

// refPath is the place of a reference to a certificate. It is formatted only if it is shown.
type refPath struct {
	list   string // the list or the field, with %d for the index of the enclosing element
	around int    // the index of the enclosing element; -1 without one
	at     int    // the index of the reference in its list; -1 for a field
}

func (p refPath) String() string {
	s := p.list
	if p.around >= 0 {
		s = fmt.Sprintf(p.list, p.around)
	}
	if p.at >= 0 {
		s += "[" + strconv.Itoa(p.at) + "]"
	}
	return s
}

// certificateRefs yields all references to certificates and authorities.
func (g *gatewayView) certificateRefs() iter.Seq2[refPath, *object.CertificateRef] {
	return func(yield func(refPath, *object.CertificateRef) bool) {
		all := func(refs []object.CertificateRef, list string, around int) bool {
			for i := range refs {
				if !yield(refPath{list, around, i}, &refs[i]) {
					return false
				}
			}
			return true
		}
		for i := range g.Listeners {
			tls := g.Listeners[i].TLS
			if tls != nil && !all(tls.CertificateRefs, "spec.listeners[%d].tls.certificateRefs", i) {
				return
			}
		}
		if !all(g.FrontendCAs, "spec.tls.frontend.default.validation.caCertificateRefs", -1) {
			return
		}
		for i, refs := range g.PortCAs {
			if !all(refs, "spec.tls.frontend.perPort[%d].tls.validation.caCertificateRefs", i) {
				return
			}
		}
		if g.BackendCertificate != nil {
			yield(refPath{"spec.tls.backend.clientCertificateRef", -1, -1}, g.BackendCertificate)
		}
	}
}
