package unique

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Rules contains the compiled unique block. A nil value has no entries.
type Rules struct {
	entries    []*Entry
	owners     claim.Owners
	known      *claim.Annotations
	exceptions *rule.Exceptions
}

// Compile returns the active entries. It returns nil if all entries are off.
func Compile(entries []Entry, owners claim.Owners, known *claim.Annotations, exceptions *rule.Exceptions) *Rules {
	r := &Rules{owners: owners, known: known, exceptions: exceptions}
	for i := range entries {
		if entries[i].Mode != rule.Off {
			r.entries = append(r.entries, &entries[i])
		}
	}
	if r.entries == nil {
		return nil
	}
	return r
}

// maxCompared is the maximum number of claims of one value with which a claim is compared, which keeps the time linear.
// Claims of objects with the same namespace and traits count once.
const maxCompared = 64

// Index contains the values that many objects claim. It needs less than 400 bytes for an object with one host.
type Index struct {
	*Rules
	now     time.Time // at which entries and exceptions are checked for expiry
	objects []entity
	records []record
	buckets map[bucketKey]bucket
	texts   map[string]string  // each namespace and each path of a field once
	traits  map[string]*traits // by their content
}

// entity is an object with its claims.
type entity struct {
	*traits
	namespace, name string
	created         int64 // seconds; 0 if unknown
	ref             int32
}

// record is a claim of a value. The claims of one value that differ in namespace or traits are a list.
type record struct {
	value, field        string
	exempt              *rule.Exemption
	object, first, next int32 // first and next are 0 for no record, because record 0 is not used
	twin                int32 // the first claim of another object with the same namespace and traits
	entry               uint16
	record              bool // see slot
}

type bucketKey struct {
	value string
	entry uint16
}

// bucket is the list of the claims of a value.
type bucket struct{ first, latest int32 }

// NewIndex returns an empty index. It returns nil if r is nil. The methods of a nil Index do nothing.
func (r *Rules) NewIndex(now time.Time) *Index {
	if r == nil {
		return nil
	}
	return &Index{
		Rules: r, now: now, records: make([]record, 1), buckets: map[bucketKey]bucket{}, texts: map[string]string{},
		traits: map[string]*traits{},
	}
}

// Add adds an object. Kinds that no entry reads are ignored.
func (x *Index) Add(o *Object) {
	if x == nil {
		return
	}
	of, ok := o.Object.(interface{ Metadata() *object.Meta })
	if _, isPod := o.Object.(*object.Pod); !ok || isPod || o.Object == nil {
		return
	}
	m := of.Metadata()
	subject := rule.NewSubject(object.Attributes{Namespace: o.Namespace, Name: o.Name, Now: x.now}, m, [2]string{}, nil)
	added := false
	for i, entry := range x.entries {
		if !entry.Applies(&subject) {
			continue
		}
		for _, s := range entry.slots(o, m, x.known) {
			if !added {
				x.addObject(o, m)
				added = true
			}
			id := rule.Identity{Check: Check, Value: s.value}
			x.add(record{
				value: s.value, field: x.text(s.field), exempt: subject.Exemption(x.exceptions, &entry.Header, &id),
				object: int32(len(x.objects) - 1), entry: uint16(i), record: s.record,
			})
		}
	}
}

// addObject adds an object without claims.
func (x *Index) addObject(o *Object, m *object.Meta) {
	t := newTraits(o, m)
	id := fmt.Sprintf("%#v", *t)
	if known := x.traits[id]; known != nil {
		t = known
	}
	x.traits[id] = t
	e := entity{traits: t, namespace: x.text(o.Namespace), name: o.Name, ref: int32(o.Ref)}
	if !o.Created.IsZero() {
		e.created = o.Created.Unix()
	}
	x.objects = append(x.objects, e)
}

// text returns an equal text that other objects share.
func (x *Index) text(s string) string {
	if known, ok := x.texts[s]; ok {
		return known
	}
	s = strings.Clone(s)
	x.texts[s] = s
	return s
}

// add adds a claim, unless the object already claims the value.
func (x *Index) add(r record) {
	key, i := bucketKey{r.value, r.entry}, int32(len(x.records))
	b, there := x.buckets[key]
	if there && x.records[b.latest].object == r.object {
		return
	}
	if !there {
		b.first = i
	} else {
		r.value = x.records[b.first].value
		x.link(&r, i, b.first)
	}
	r.first, b.latest = b.first, i
	x.records, x.buckets[key] = append(x.records, r), b
}

// link makes record i the twin of a claim, or the last element of the list that begins with first.
func (x *Index) link(r *record, i, first int32) {
	p := &x.objects[r.object]
	for at, n := first, 1; n < maxCompared; n++ {
		q := &x.records[at]
		if of := &x.objects[q.object]; of.traits == p.traits && of.namespace == p.namespace && q.record == r.record {
			if q.twin == 0 {
				q.twin = i
			}
			return
		}
		if q.next == 0 {
			q.next = i
			return
		}
		at = q.next
	}
}

// Duplicate is a value that two objects claim.
type Duplicate struct {
	rule.Finding
	// Kind, Namespace, Name and Ref are the fields of the Object.
	Kind, Namespace, Name string
	Ref                   int
	Redacted              string // the Reason without the name of an object in another namespace
}

// Duplicates yields the duplicates, in the order in which the objects were added: one for each value of an object, with
// the first other object that claims the value too. It does not yield more than rule.MaxFindings for an object.
func (x *Index) Duplicates() iter.Seq[Duplicate] {
	return func(yield func(Duplicate) bool) {
		if x == nil {
			return
		}
		object, n := int32(-1), 0
		for i := range x.records[1:] {
			r := &x.records[i+1]
			if r.object != object {
				object, n = r.object, 0
			}
			if with := x.find(r); with != nil && n < rule.MaxFindings {
				if n++; !yield(x.duplicate(r, with)) {
					return
				}
			}
		}
	}
}

// find returns the first claim of another object that is a duplicate of r, or nil.
func (x *Index) find(r *record) *record {
	for at := r.first; at != 0; at = x.records[at].next {
		q := &x.records[at]
		if x.conflict(r, q) {
			return q
		}
		if q.twin != 0 && x.conflict(r, &x.records[q.twin]) {
			return &x.records[q.twin]
		}
	}
	return nil
}

// duplicate returns the finding about r, which claims the same value as with.
func (x *Index) duplicate(r, with *record) Duplicate {
	e, p, q := x.entries[r.entry], &x.objects[r.object], &x.objects[with.object]
	name := text.Name(q.name)
	if q.namespace != "" {
		name = text.Name(q.namespace) + "/" + name
	}
	name = text.Name(q.kind) + " " + name + " (" + with.field
	if q.created != 0 {
		name += ", created " + day(q.created)
	}
	name += ")"
	if p.created != 0 {
		name += "; this object was created " + day(p.created)
	}
	d := Duplicate{Kind: p.kind, Namespace: p.namespace, Name: p.name, Ref: int(p.ref), Finding: rule.Finding{
		Rule: string(e.Name), Check: Check, Mode: e.Mode, Path: r.field, Note: string(e.Message), Exempt: r.exempt,
		Reason: e.reason(r.value, name),
	}}
	if d.Redacted = d.Reason; p.namespace != q.namespace {
		d.Redacted = e.reason(r.value, "")
	}
	return d
}

func day(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.DateOnly) }
