package plan

import (
	"cmp"
	"slices"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy/object"
)

// maxDetails is the maximum number of findings and images that are listed for an object. It is also the maximum in a
// denial.
const maxDetails = admission.Shown

// listed collects the first objects of each kind of change, because the most important objects may come last in the
// input.
type listed struct {
	limit  int // for each kind, and for the whole report
	byKind [numKinds][]*Object
	at     map[group]*Object
}

// group identifies objects that are listed together.
type group struct {
	kind, namespace, name string // name is the name of a Pod's owner
	change                Kind
	old, new              level
	rewritten             bool
}

func newListed(limit int) listed { return listed{limit: limit, at: map[group]*Object{}} }

// found is an object with its changes.
type found struct {
	change
	object     offline.Object
	request    *Request
	pod        *object.Pod // nil for other objects
	fromRecord bool
}

// add lists an object, or counts it for a listed object of the same group.
func (l *listed) add(f *found) {
	kind := f.kinds[0]
	g := group{
		text.Truncate(f.object.Kind, admission.MaxName), text.Truncate(f.namespace, admission.MaxName),
		cmp.Or(ownerOf(f.pod), text.Truncate(f.object.Name, admission.MaxName)),
		kind, f.old, f.new, slices.Contains(f.kinds, RewrittenDiffers),
	}
	if o := l.at[g]; o != nil {
		o.Count++
		return
	}
	of := &l.byKind[kind.index()]
	if len(*of) >= l.limit {
		return
	}
	o := newObject(f)
	*of = append(*of, o)
	l.at[g] = o
}

// report returns the first objects in the order of kinds, and the number of other changed objects.
func (l *listed) report(changed int) (all []Object, more int) {
	all = []Object{}
	for _, of := range l.byKind {
		for _, o := range of {
			if len(all) == l.limit {
				return all, changed
			}
			all = append(all, *o)
			changed -= o.Count
		}
	}
	return all, changed
}

// ownerOf returns the owner of a Pod as Kind/name. It returns an empty string for a Pod without an owner and for
// other objects.
func ownerOf(pod *object.Pod) string {
	if pod == nil || pod.Owner == "" {
		return ""
	}
	kind, name := offline.Owner(pod)
	return text.Truncate(kind+"/"+name, 2*admission.MaxName)
}

// newObject returns an object for the report. It truncates values whose length depends on the input.
func newObject(f *found) *Object {
	o := &Object{
		Kind: text.Truncate(f.object.Kind, admission.MaxName), Namespace: text.Truncate(f.namespace, admission.MaxName),
		Name: text.Truncate(f.object.Name, admission.MaxName), Source: f.object.Origin.String(), Owner: ownerOf(f.pod),
		Count: 1, Changes: f.kinds, Old: f.old.decision(), New: f.new.decision(),
		FromRecord: f.fromRecord, Request: f.request,
	}
	for _, differs := range f.findings[:min(len(f.findings), maxDetails)] {
		differs.Path = text.Truncate(differs.Path, admission.MaxSentence)
		differs.Message = text.Truncate(differs.Message, admission.MaxSentence)
		o.Findings = append(o.Findings, differs)
	}
	o.MoreFindings = len(f.findings) - len(o.Findings)
	for _, i := range f.images[:min(len(f.images), maxDetails)] {
		for _, s := range []*string{&i.Path, &i.Image, &i.Old, &i.New} {
			*s = text.Truncate(*s, admission.MaxSentence)
		}
		o.Images = append(o.Images, i)
	}
	o.MoreImages = len(f.images) - len(o.Images)
	return o
}
