// Package offline judges manifests by a policy, without a server and without a cluster: what would be rewritten, denied
// and warned of if they were applied, and why. It decides with the same code that answers kube-apiserver.
//
//	files.go  json.go  yaml.go   text → objects, one by one; list.go: of an API server
//	kinds.go                     which objects are judged, and where workloads keep their Pod template
//	offline.go                   what of the input is judged
//	judge.go                     object → request, as kube-apiserver would send it, which package admission decides
//	audit.go                     what is particular to objects that exist already
//	collect.go                   answers → report
//	report.go  text.go           the report, for programs and for users
//	cases.go  locate.go          the report for pipelines, with the lines of fields
package offline

import (
	"errors"
	"iter"
	"time"

	"github.com/evergate/evergate/policy"
)

// Options is the policy to judge by, and the request that objects are judged in.
type Options struct {
	Policy *policy.Policy

	// An object that Old contains is updated, any other created; with Operation UPDATE an object that Old does not contain
	// is an error. Pods of a template are created whatever the operation on the workload: its controller makes new ones.
	Old       *Index // may be nil
	Operation policy.Operation

	Namespace string // of objects that name none
	User      string // that sends the request, for rules that match by user
	Groups    []string
	Now       time.Time // by which exceptions end; at the zero time none has ended
	Sets      []string  // whose rules judge too, all objects alike; only a cluster knows the labels of namespaces
	// SetsOf returns the sets whose rules judge an object beside those of Sets, for callers who can ask a cluster; it may
	// be nil.
	SetsOf func(Object) []string

	// AsExisting judges objects that a cluster holds already. Images are then what runs, and are not rewritten first;
	// the report holds only what there is something to say of, by namespace and owner. Left out and counted are Pods
	// that have ended, since they pull nothing any more, and mirror Pods of static Pods, which no webhook can help.
	// Pod templates are skipped: what runs are the Pods.
	AsExisting bool

	// Recorded judges Pods by the original images in their records, which tenants may write, in place of those that they
	// were rewritten to: as they would be created anew.
	Recorded bool
	// RecordedBy are further policies by which the entries of records are confirmed, beside Policy.
	RecordedBy []*policy.Policy

	Reviews bool // the input holds AdmissionReviews, which say all of the above themselves
	Explain bool // say of every image and rule why it applies or does not
}

// Review judges objects. The report lists those that cannot be read or understood as errors.
func Review(o Options, objects iter.Seq2[Object, error]) *Report {
	r := &reviewer{NewJudge(o), newCollector(&o)}
	judge := r.manifest
	if o.Reviews {
		judge = r.admissionReview
	}
	for object, err := range objects {
		if err == nil {
			err = judge(object)
		}
		r.tell(err)
	}
	return r.report()
}

// tell reports an error, or what else there is to say in place of an object.
func (r *reviewer) tell(err error) {
	if absent, ok := errors.AsType[*NotServedError](err); ok {
		r.NotServed = append(r.NotServed, absent.Resource)
		return
	}
	if skipped, ok := errors.AsType[*SkippedError](err); ok {
		r.skips.AddFile(skipped)
		return
	}
	if err != nil {
		r.fail(err)
	}
}

// reviewer judges objects one by one, and collects what is decided.
type reviewer struct {
	*Judge
	*collector
}

// manifest judges one object as if it were applied, or as it exists.
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
	case k.judge == nil:
		r.skip(object, "not judged")
		return nil
	case existing && k.makesPods():
		r.skip(object, "its Pods are judged instead")
		return nil
	case existing && object.HasEnded():
		r.Summary.EndedPods++
		return nil
	}
	a, err := r.apply(object, k)
	if err != nil {
		return err
	}
	if existing && isMirrorPod(a) {
		r.Summary.MirrorPods++
		return nil
	}
	r.add(object, a)
	return nil
}
