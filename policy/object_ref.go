package policy

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// namespace returns the namespace of the referenced object. If it is not set, namespace returns the namespace of the
// evaluated object.
func (o *ObjectRef) namespace(r *report) string {
	if o.Namespace == "" {
		return r.subject.namespace
	}
	return o.Namespace
}

// gatewayKind returns the kind without the group of Gateway API, as policies write the kind of a parent.
func (o *ObjectRef) gatewayKind() string { return strings.TrimSuffix(o.Kind, "."+gatewayGroup) }

// steps returns how many steps it takes to compare the reference and the texts in more with a pattern.
func (o *ObjectRef) steps(more ...string) int {
	n := stepsOf(1, o.Kind) + stepsOf(1, o.Namespace) + stepsOf(1, o.Name)
	for _, s := range more {
		n += stepsOf(1, s)
	}
	return n
}

// describe returns the reference as sentences show it, for example Service "shop/cart".
func (o *ObjectRef) describe(r *report) string {
	return text.Name(o.gatewayKind()) + " " + text.Quote(o.inNamespace(r))
}

// inNamespace returns namespace/name, or only the name if the namespace is empty. The length of the result is bounded.
func (o *ObjectRef) inNamespace(r *report) string {
	const most = 4 * text.Short // a sentence shows only a part of the text
	namespace, name := text.Truncate(o.namespace(r), most), text.Truncate(o.Name, most)
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// identity returns the identity of a finding about the referenced object. It does not depend on which list element
// contains the reference.
func (o *ObjectRef) identity(check string, r *report) identity {
	return identity{check: check, value: o.Name, detail: o.namespace(r), use: o.Kind}
}
