// Package unique finds duplicates among many objects: hosts, paths, selectors or annotations that two objects claim. A
// review of one object cannot decide this, so only commands that read many objects use the package.
//
//	unique.go  the unique block, and the duplicates among the claims of values
//	claims.go  the values that an object claims, and which claims of a value are no duplicates
package unique

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// Entry is an entry of the unique block: values that only one object may claim. The commands evergate review, evergate
// test and evergate plan evaluate it, because they read many objects. The webhook never does. In mode warn, a duplicate
// is a warning. In mode enforce, evergate review and evergate test exit with 1. There is no mode audit.
//
// Two objects are compared only if the same controller would serve both, or if they are objects of different APIs in
// different namespaces.
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
	// Redact: true means that the reports in the namespace of an object do not name objects in other namespaces. Absent:
	// they name them.
	Redact bool `yaml:"redact"`
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
	if (e.What == annotation) != (e.Annotation != "") {
		faults.Fieldf("what", "write the field annotation for what: annotation, and leave it out for other values")
	}
	switch {
	case e.ShareWithin == withinOwner && (e.What == serviceSelectors || e.What == annotation):
		faults.Fieldf("shareWithin", "owner has no meaning for %s: only hosts have owners", e.What)
	case e.ShareWithin == withinNamespace && e.local():
		faults.Fieldf("shareWithin", "namespace finds nothing in scope: namespace: leave one of them out")
	}
	return faults.Err()
}

// local reports whether only objects of one namespace are compared.
func (e *Entry) local() bool {
	return e.Scope == inNamespace || e.Scope == "" && e.What == serviceSelectors
}

// word is a value of what, scope a value of scope, and share a value of shareWithin.
type (
	word  string
	scope string
	share string
)

const (
	hosts            word  = "hosts"
	hostPaths        word  = "hostPaths"
	serviceSelectors word  = "serviceSelectors"
	annotation       word  = "annotation"
	inNamespace      scope = "namespace"
	withinNamespace  share = "namespace"
	withinOwner      share = "owner"
)

func (w *word) UnmarshalText(b []byte) error {
	return rule.ReadWord(w, b, "a value that can be unique", hosts, hostPaths, serviceSelectors, annotation)
}

func (s *scope) UnmarshalText(b []byte) error {
	return rule.ReadWord(s, b, "a scope", inNamespace, "cluster")
}

func (s *share) UnmarshalText(b []byte) error {
	return rule.ReadWord(s, b, "known here", withinNamespace, withinOwner)
}

// Rules contains the compiled unique block. A nil value has no entries.
type Rules struct {
	entries    []Entry
	owners     claim.Owners
	known      *claim.Annotations
	exceptions *rule.Exceptions
}

// Compile returns the active entries. It returns nil if all entries are off.
func Compile(entries []Entry, owners claim.Owners, known *claim.Annotations, exceptions *rule.Exceptions) *Rules {
	active := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Mode == rule.Off })
	if len(active) == 0 {
		return nil
	}
	return &Rules{active, owners, known, exceptions}
}

// Object is an object for an Index. Decisions about a single object don't depend on the fields after Object.
type Object struct {
	object.Reference
	Ref      int // for the caller; Duplicate has it
	Object   interface{ Metadata() *object.Meta }
	Created  time.Time // zero if unknown
	Selector map[string]string
	Matches  []string         // of an HTTPRoute or GRPCRoute: a text for each match, equal for equal matches
	Parent   object.Reference // of a ListenerSet
}

// maxCompared is the maximum number of claims of one value with which a claim is compared, which keeps the time linear.
// Of the claims of objects with the same namespace and traits, only two are compared.
const maxCompared = 64

// Index contains the values that many objects claim. It needs less than 400 bytes for an object with one host.
type Index struct {
	*Rules
	now     time.Time // at which entries and exceptions are checked for expiry
	objects []entity
	records []record
	claims  map[value][]int32             // the records that are compared, in their order
	traits  map[[sha256.Size]byte]*traits // by their content
}

// entity is an object with its claims.
type entity struct {
	*traits
	object.Reference
	created time.Time // zero if unknown
	ref     int32
}

// value is a value that an entry reads.
type value struct {
	text  string
	entry uint16
}

// record is a claim of a value.
type record struct {
	value
	object int32
	field  string
	exempt *rule.Exemption
}

// NewIndex returns an empty index. It returns nil if r is nil. The methods of a nil Index do nothing.
func (r *Rules) NewIndex(now time.Time) *Index {
	if r == nil {
		return nil
	}
	return &Index{Rules: r, now: now, claims: map[value][]int32{}, traits: map[[sha256.Size]byte]*traits{}}
}

// Add adds an object. Kinds that no entry reads are ignored.
func (x *Index) Add(o *Object) {
	if x == nil {
		return
	}
	m := o.Object.Metadata()
	subject := rule.NewSubject(object.Attributes{Namespace: o.Namespace, Name: o.Name, Now: x.now}, m, [2]string{}, nil)
	t, index, claimed := newTraits(o, m), int32(len(x.objects)), map[value]bool{}
	for i := range x.entries {
		entry := &x.entries[i]
		if !entry.Applies(&subject) {
			continue
		}
		entry.values(o, m, x.known, func(text, field string) {
			v := value{text, uint16(i)}
			if claimed[v] {
				return
			}
			if len(claimed) == 0 {
				x.addObject(o, t)
			}
			claimed[v] = true
			id := rule.Identity{Check: Check, Value: text}
			x.records = append(x.records, record{v, index, field, subject.Exemption(x.exceptions, &entry.Header, &id)})
			x.compare(int32(len(x.records) - 1))
		})
	}
}

// addObject adds an object. It shares its traits with other objects.
func (x *Index) addObject(o *Object, t *traits) {
	id := sha256.Sum256(fmt.Appendf(nil, "%#v", *t))
	if known := x.traits[id]; known != nil {
		t = known
	}
	x.traits[id] = t
	x.objects = append(x.objects, entity{t, o.Reference, o.Created, int32(o.Ref)})
}

// compare makes a record one of the records with which others of the value are compared, unless there are enough.
func (x *Index) compare(i int32) {
	r, alike := &x.records[i], 0
	p, list := &x.objects[r.object], x.claims[r.value]
	for _, j := range list {
		if q := &x.objects[x.records[j].object]; p.Reference == q.Reference {
			return
		} else if p.traits == q.traits && p.Namespace == q.Namespace {
			alike++
		}
	}
	if len(list) > 0 {
		r.text = x.records[list[0]].text // one copy is enough
	}
	if alike < 2 && len(list) < maxCompared {
		x.claims[r.value] = append(list, i)
	}
}

// Check is the check in findings about duplicates.
const Check = "unique"

// Duplicate is a value that two objects claim.
type Duplicate struct {
	rule.Finding
	object.Reference
	Ref      int    // of the Object
	Redacted string // the Reason for the namespace of the object; empty if it is the same
}

// Duplicates yields the duplicates, in the order in which the objects were added: one for each value of an object, with
// the first other object that claims the value too. It does not yield more than rule.MaxFindings for an object.
func (x *Index) Duplicates() iter.Seq[Duplicate] {
	return func(yield func(Duplicate) bool) {
		if x == nil {
			return
		}
		object, n := int32(-1), 0
		for i := range x.records {
			r := &x.records[i]
			if r.object != object {
				object, n = r.object, 0
			}
			others := x.claims[r.value]
			with := slices.IndexFunc(others, func(j int32) bool { return x.conflict(r, &x.records[j]) })
			if with < 0 || n == rule.MaxFindings {
				continue
			}
			if n++; !yield(x.duplicate(r, &x.records[others[with]])) {
				return
			}
		}
	}
}

// duplicate returns the finding about r, which claims the same value as with.
func (x *Index) duplicate(r, with *record) Duplicate {
	e, p, q := &x.entries[r.entry], &x.objects[r.object], &x.objects[with.object]
	created := func(before string, o *entity) string {
		if o.created.IsZero() {
			return ""
		}
		return before + "created " + o.created.UTC().Format(time.DateOnly)
	}
	claimed := map[word]string{serviceSelectors: "the selector ", annotation: "the value "}[e.What] + text.Quote(r.text) +
		" is also claimed by "
	name := text.Name(q.Name)
	if q.Namespace != "" {
		name = text.Name(q.Namespace) + "/" + name
	}
	d := Duplicate{Reference: p.Reference, Ref: int(p.ref), Finding: rule.Finding{
		Rule: string(e.Name), Check: Check, Mode: e.Mode, Path: r.field, Note: string(e.Message), Exempt: r.exempt,
		Reason: claimed + text.Name(q.Kind) + " " + name + " (" + with.field + created(", ", q) + ")" +
			created("; this object was ", p),
	}}
	if e.Redact && p.Namespace != q.Namespace {
		d.Redacted = claimed + "an object in another namespace"
	}
	return d
}
