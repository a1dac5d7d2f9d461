package admission

import (
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

// rewritePod decides from which registries a Pod's images are pulled. Its findings never deny.
func rewritePod(p *policy.Policy, r *review.Request[object.Pod], e *policy.Effort, d *Decision) (err error) {
	d.Rewriting, err = p.RewritePod(r.Attributes, r.Object, r.Old, e)
	d.Findings = d.Rewriting.Findings
	return err
}

// patchPod does the same as rewritePod and also creates the patch. The ephemeralcontainers subresource cannot change
// metadata, so the original references are not recorded in its requests.
func patchPod(p *policy.Policy, r *review.Request[object.Pod], e *policy.Effort, d *Decision) (err error) {
	if err = rewritePod(p, r, e, d); err != nil {
		return err
	}
	d.Patch, err = review.PatchPod(r.Object, d.Rewriting, r.Subresource == "")
	return err
}

// rewritten returns a copy of a Pod with its rewritten images.
func rewritten(pod *object.Pod, d *Decision) *object.Pod {
	final := *pod
	final.Images = d.Rewriting.Pulled(pod.Images)
	return &final
}
