// Package offline validates manifests against a policy, without a server and without a cluster. It reports which
// objects would be rewritten, denied or warned about if they were applied, and why. It uses the same code as the
// webhook.
//
//	files.go  json.go  yaml.go   text → objects, one at a time; list.go: the items of Lists
//	kinds.go                     which objects are validated, and where workloads have their Pod template
//	offline.go                   which objects of the input are validated
//	decider.go                     object → request, as kube-apiserver would send it; package admission decides it
//	audit.go                     the special cases of existing objects
//	duplicates.go                objects that claim the same values
//	collect.go                   answers → report
//	report.go  text.go           the report, for programs and for users
//	cases.go  locate.go          the report for CI, with the lines of fields
package offline

import (
	"errors"
	"iter"
	"time"

	"github.com/evergate/evergate/policy"
)

// Options contains the policy, and the attributes of the requests that are decided.
type Options struct {
	Policy *policy.Policy

	// An object that is in Old is updated. Every other object is created. Pods of a template are always created, because
	// the controller of a workload creates new Pods.
	Old *Index // may be nil

	Namespace string // of objects without a namespace
	// NamespaceAssumed means that the user did not choose Namespace, so the report counts the objects that get it.
	// NamespaceRequired makes them errors.
	NamespaceAssumed, NamespaceRequired bool

	User   string // that sends the request, for rules that match by user; if it is empty, mirror Pods are left out
	Groups []string
	Now    time.Time // at which exceptions are checked for expiry; at the zero time, none has expired
	Sets   []string  // rule sets that apply to all objects; only a cluster has the labels of namespaces
	// SetsOf returns rule sets that apply to an object in addition to Sets, for callers with access to a cluster. It
	// may be nil.
	SetsOf func(Object) []string

	// AsExisting validates objects that already exist in a cluster. Images are then the running images and are not
	// rewritten first. The report contains only objects with findings, by namespace and owner. Ended Pods are left
	// out and counted, because they do not pull images any more. Workloads are skipped, because their running Pods are
	// validated.
	AsExisting bool

	// Recorded validates Pods with the original images from their annotations instead of the rewritten images, as if
	// the Pods were created again. Tenants may write these annotations.
	Recorded bool
	// RecordedBy contains policies that, like Policy, can confirm the entries of these annotations.
	RecordedBy []*policy.Policy

	Reviews bool // the input contains AdmissionReviews, which have all the attributes above
	Explain bool // report for every image and rule why it applies or does not apply
	Pulled  bool // report every image, and skip objects that no longer pull images: ended Pods and replaced workloads
}

// Review decides about objects. The report lists objects that cannot be read or understood as errors.
func Review(o Options, objects iter.Seq2[Object, error]) *Report {
	r := &reviewer{
		Decider: NewDecider(o),
		Report: &Report{
			Policy:     Policy{o.Policy.Hash(), o.Policy.Counts()},
			AsExisting: o.AsExisting,
			Decision:   Allowed,
			Results:    []Result{},
			explain:    o.Explain,
		},
		counts: newCounts(),
		owners: owners{},
	}
	if o.Old != nil {
		for _, skipped := range o.Old.skipped {
			r.AddFile(skipped)
		}
	}
	decide := r.manifest
	if o.Reviews {
		decide = r.admissionReview
	}
	for object, err := range objects {
		if err == nil {
			err = decide(object)
		}
		if err != nil && !r.AddError(err) {
			r.fail(err)
		}
	}
	return r.report()
}

// manifest decides about one object as if it were applied, or as an existing object.
func (r *reviewer) manifest(object Object) error {
	k, err := r.kindOf(object)
	if err != nil {
		return err
	}
	existing := r.Options.AsExisting
	switch {
	case object.Kind == "AdmissionReview":
		return object.Errorf("this is a review, not a manifest: add --admission-review")
	case object.Kind == "EvergatePolicy" && !object.inDir:
		return object.Errorf("that is the policy: use --policy")
	case k.admission == nil:
		r.skip(object, "not validated")
		return nil
	case existing && k.makesPods():
		r.skip(object, "its Pods are validated instead")
		return nil
	case existing && object.HasEnded():
		r.Summary.EndedPods++
		return nil
	case r.Options.Pulled && (object.HasEnded() || object.CreatesNoPods()):
		r.skip(object, "it does not pull images any more")
		return nil
	}
	if err := object.Unrendered(); err != nil {
		return err
	}
	if object.Namespace == "" && r.Options.NamespaceRequired {
		return object.failed(errors.New("it has no namespace: add -n NAMESPACE, or write metadata.namespace"))
	}
	a, err := r.apply(object, k)
	if err != nil {
		return err
	}
	if r.OmitsMirrorPod(a) {
		r.Summary.MirrorPods++
		return nil
	}
	if object.Namespace == "" && r.Options.NamespaceAssumed {
		r.Summary.NoNamespace++
	}
	r.add(object, a)
	return nil
}
