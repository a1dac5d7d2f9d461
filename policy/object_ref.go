package policy

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// namespace returns the namespace of the object that is referred to: that of the judged object where none is set.
func (o *ObjectRef) namespace(r *report) string {
	if o.Namespace == "" {
		return r.subject.namespace
	}
	return o.Namespace
}

// gatewayKind returns the kind as policies write that of a parent: without the group of Gateway API.
func (o *ObjectRef) gatewayKind() string { return strings.TrimSuffix(o.Kind, "."+gatewayGroup) }

// steps returns how many steps it takes to compare the reference, and further texts, with a pattern.
func (o *ObjectRef) steps(more ...string) int {
	n := stepsOf(1, o.Kind) + stepsOf(1, o.Namespace) + stepsOf(1, o.Name)
	for _, s := range more {
		n += stepsOf(1, s)
	}
	return n
}

// describe returns the reference as sentences name it: Service "shop/cart".
func (o *ObjectRef) describe(r *report) string {
	return text.Name(o.gatewayKind()) + " " + text.Quote(o.inNamespace(r))
}

// inNamespace returns the name behind its namespace, of bounded length.
func (o *ObjectRef) inNamespace(r *report) string {
	const most = 4 * text.Short // of which a sentence shows a part
	namespace, name := text.Truncate(o.namespace(r), most), text.Truncate(o.Name, most)
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// identity returns the identity of a finding about the object that is referred to, whichever element of a list refers
// to it.
func (o *ObjectRef) identity(check string, r *report) identity {
	return identity{check: check, value: o.Name, detail: o.namespace(r), use: o.Kind}
}
