package policy

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// namespaceOfRef returns the namespace of the referenced object. If it is not set, namespace returns the namespace of
// the evaluated object.
func namespaceOfRef(o *object.Reference, r *rule.Recorder) string {
	if o.Namespace == "" {
		return r.Subject.Namespace
	}
	return o.Namespace
}

// gatewayKindOf returns the kind without the group of Gateway API, as policies write the kind of a parent.
func gatewayKindOf(o *object.Reference) string { return strings.TrimSuffix(o.Kind, "."+gatewayGroup) }

// refSteps returns how many steps it takes to compare the reference and the texts in more with a pattern.
func refSteps(o *object.Reference, more ...string) int {
	n := rule.StepsOf(1, o.Kind) + rule.StepsOf(1, o.Namespace) + rule.StepsOf(1, o.Name)
	for _, s := range more {
		n += rule.StepsOf(1, s)
	}
	return n
}

// describeRef returns the reference as sentences show it, for example Service "shop/cart".
func describeRef(o *object.Reference, r *rule.Recorder) string {
	return text.Name(gatewayKindOf(o)) + " " + text.Quote(refInNamespace(o, r))
}

// refInNamespace returns namespace/name, or only the name if the namespace is empty. The length of the result is
// bounded.
func refInNamespace(o *object.Reference, r *rule.Recorder) string {
	const most = 4 * text.Short // a sentence shows only a part of the text
	namespace, name := text.Truncate(namespaceOfRef(o, r), most), text.Truncate(o.Name, most)
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// refIdentity returns the identity of a finding about the referenced object. It does not depend on which list element
// contains the reference.
func refIdentity(o *object.Reference, check string, r *rule.Recorder) rule.Identity {
	return rule.Identity{Check: check, Value: o.Name, Detail: namespaceOfRef(o, r), Use: o.Kind}
}
