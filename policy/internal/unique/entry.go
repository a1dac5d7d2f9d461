// Package unique finds duplicates among many objects: hosts, paths, selectors or annotations that two objects claim. A
// review of one object cannot decide this, so only commands that read many objects use the package.
//
//	entry.go      the unique block
//	object.go     the objects of an index, and the traits of an object on which the comparison depends
//	slots.go      the values that an object claims
//	conflict.go   which claims of a value are no duplicates
//	index.go      claims by value, and the duplicates among them
package unique

import (
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// Entry is an entry of the unique block: values that only one object may claim. The commands evergate review, evergate
// test and evergate plan evaluate it, because they read many objects. The webhook never does. In mode warn, a duplicate
// is a warning. In mode enforce, evergate review and evergate test exit with 1. There is no mode audit.
//
// Two objects are compared only if the same controller would serve both. For Ingresses, this is the class. For routes,
// it is the Gateway and the listener. Objects of different APIs, such as an Ingress and an HTTPRoute, are compared
// unless they are in one namespace, because a team that moves to another API has both for some time.
type Entry struct {
	rule.RuleHeader
	// What: the kind of value that must be unique. hostPaths is a host with a path, and serviceSelectors is spec.selector
	// of a Service. The other words are hosts and annotation.
	What word `yaml:"what,required"`
	// Annotation is the key of the annotation whose value must be unique, for what: annotation.
	Annotation string `yaml:"annotation"`
	// Scope is namespace or cluster. In scope namespace, only objects of one namespace are compared. Absent: namespace
	// for serviceSelectors, and cluster otherwise.
	Scope scope `yaml:"scope"`
	// ShareWithin is namespace or owner. Objects of one namespace may then share a value, or objects in the namespaces of
	// the owners entry that owns the host. Absent: no two objects may share a value.
	ShareWithin share `yaml:"shareWithin"`
	// NamespaceOwnership is the field of the same name of the OpenShift IngressController: Strict or
	// InterNamespaceAllowed. With InterNamespaceAllowed, Routes of several namespaces may share a host if their paths
	// differ. Absent: Strict.
	NamespaceOwnership ownership `yaml:"namespaceOwnership"`
}

// Suggest implements strict.Suggester.
func (e *Entry) Suggest(field string) []string { return rule.UniqueDimensions().Suggest(field) }

// Validate implements strict.Validator.
func (e *Entry) Validate() error {
	var faults strict.Faults
	faults.Add(e.ValidateFor(rule.UniqueDimensions()))
	if e.Mode == rule.Audit {
		faults.Fieldf("mode", "audit has no meaning here, because webhooks don't evaluate the entry: write warn or enforce")
	}
	if byHost := e.What == hosts || e.What == hostPaths; !byHost {
		if e.ShareWithin == withinOwner {
			faults.Fieldf("shareWithin", "owner has no meaning for %s: only hosts have owners", e.What)
		}
		if e.NamespaceOwnership != "" {
			faults.Fieldf("namespaceOwnership", "has no meaning for %s: only Routes have hosts", e.What)
		}
	}
	switch tooLong := len(e.Annotation) > object.MaxAnnotationKey; {
	case e.What == annotation && e.Annotation == "":
		faults.Fieldf("what", "annotation needs a key: write it in the field annotation")
	case e.What != annotation && e.Annotation != "":
		faults.Fieldf("annotation", "has no meaning for %s: write what: annotation", e.What)
	case tooLong:
		faults.Fieldf("annotation", "is too long: %s bytes, limit %d", text.Thousands(len(e.Annotation)),
			object.MaxAnnotationKey)
	}
	if e.ShareWithin == withinNamespace && e.scope() == inNamespace {
		faults.Fieldf("shareWithin", "namespace finds nothing in scope: namespace: leave one of them out")
	}
	return faults.Err()
}

// scope returns the scope of the entry with its default.
func (e *Entry) scope() scope {
	if e.Scope == "" && e.What == serviceSelectors {
		return inNamespace
	}
	return e.Scope
}

// word is a value of what.
type word string

const (
	hosts            word = "hosts"
	hostPaths        word = "hostPaths"
	serviceSelectors word = "serviceSelectors"
	annotation       word = "annotation"
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *word) UnmarshalText(b []byte) error {
	return rule.ReadWord(w, b, "a value that can be unique", hosts, hostPaths, serviceSelectors, annotation)
}

// scope is a value of scope.
type scope string

const (
	inNamespace scope = "namespace"
	inCluster   scope = "cluster"
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *scope) UnmarshalText(b []byte) error {
	return rule.ReadWord(s, b, "a scope", inNamespace, inCluster)
}

// share is a value of shareWithin.
type share string

const (
	withinNamespace share = "namespace"
	withinOwner     share = "owner"
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *share) UnmarshalText(b []byte) error {
	return rule.ReadWord(s, b, "known here", withinNamespace, withinOwner)
}

// ownership is a value of namespaceOwnership.
type ownership string

const interNamespaceAllowed ownership = "InterNamespaceAllowed"

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *ownership) UnmarshalText(b []byte) error {
	return rule.ReadWord(o, b, "known here", "Strict", interNamespaceAllowed)
}

// Check is the check in findings about duplicates.
const Check = "unique"

// reason returns the sentence about a duplicate. other names the other object, and is empty if it must not be shown.
func (e *Entry) reason(value, other string) string {
	noun := map[word]string{serviceSelectors: "the selector ", annotation: "the value "}[e.What]
	if other == "" {
		other = "an object in another namespace"
	}
	return fmt.Sprintf("%s%s is also claimed by %s", noun, text.Quote(value), other)
}
