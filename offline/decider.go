package offline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy/object"
)

// Decider decides about objects one at a time, like Review, for callers that write their own reports.
type Decider struct {
	Options
	Duplicates
	kinds map[string]knownKind // by name
}

// NewDecider returns a Decider with the policy and options of o.
func NewDecider(o Options) *Decider {
	return &Decider{o, Duplicates{o.Policy.NewUniqueIndex(o.Now)}, kindsByName(o.Policy)}
}

// DecideBoth returns the decisions of two Deciders about an object as if it were applied. They may only differ in their
// policies, so most objects are read only once. A decision is nil if the kind of the object is not validated. The error
// contains the place of the object and the reason why the object cannot be validated.
func DecideBoth(old, new *Decider, object Object) (was, is *admission.Answer, err error) {
	k, err := new.kindOf(object)
	other, errOld := old.kindOf(object)
	switch {
	case err != nil || errOld != nil:
		return nil, nil, cmp.Or(err, errOld)
	case k.custom || other.custom || k.admission == nil:
		if is, err = new.apply(object, k); err == nil {
			was, errOld = old.apply(object, other)
		}
	default:
		var read admission.Object
		if read, err = new.read(object, k); err != nil {
			return nil, nil, object.failed(err)
		}
		if is, err = new.decide(object, k, read); err == nil {
			was, errOld = old.decide(object, k, read)
		}
	}
	if errOld != nil {
		err = fmt.Errorf("%w (by the old policy)", errOld)
	}
	return was, is, err
}

func (d *Decider) question(object Object) admission.Question {
	sets := d.Sets
	if d.SetsOf != nil {
		sets = slices.Concat(sets, d.SetsOf(object))
	}
	return admission.Question{
		Policy: d.Policy, Existing: d.AsExisting, Explain: d.Explain, Recorded: d.Recorded,
		RecordedBy: d.RecordedBy, Sets: sets, Now: d.Now,
	}
}

// apply decides the request that kube-apiserver would send to the webhook if the object were applied. It returns nil if
// the kind is not validated.
func (d *Decider) apply(object Object, k knownKind) (*admission.Answer, error) {
	if k.admission == nil {
		return nil, nil
	}
	read, err := d.read(object, k)
	if err != nil {
		return nil, object.failed(err)
	}
	return d.decide(object, k, read)
}

// read reads an object, and the old object that it updates.
func (d *Decider) read(obj Object, k knownKind) (admission.Object, error) {
	if obj.Namespace == "" {
		obj.Namespace = d.Namespace
	}
	a := object.Attributes{
		Operation: object.Create, Namespace: obj.Namespace, Name: obj.Name, User: d.User, Groups: d.Groups,
	}
	old, found := d.Old.find(obj)
	if found {
		a.Operation = object.Update
	}
	return k.admission.Object(d.Policy, a, obj.JSON, old.JSON)
}

// decide decides about an object that has been read.
func (d *Decider) decide(object Object, k knownKind, read admission.Object) (*admission.Answer, error) {
	answer, err := read.Decide(d.question(object))
	if err == nil && k.makesPods() && len(answer.TemplateImages) == 0 && !strings.Contains(object.group(), ".") {
		err = errors.New("it has no template with an image, so there is no Pod to validate")
	}
	if err != nil {
		return nil, object.failed(err)
	}
	return answer, nil
}

// failed returns an error with the name and place of the object.
func (o Object) failed(err error) error {
	_, wrong, _ := strings.Cut(err.Error(), ": want ")
	wanted, got, _ := strings.Cut(wrong, ", got ")
	return &inputError{Origin: o.Origin, Err: fmt.Errorf("%s: %w%s", o, err, quoteHint(wanted, got))}
}
