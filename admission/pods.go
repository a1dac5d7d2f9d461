package admission

import (
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// rewritePod decides where the images of a Pod are pulled from. No finding of it denies.
func rewritePod(p *policy.Policy, r *review.Request[policy.Pod], e *policy.Effort, d *Decision) (err error) {
	d.Rewriting, err = p.RewritePod(r.Attributes, r.Object, r.Old, e)
	d.Findings = d.Rewriting.Findings
	return err
}

// patchPod is rewritePod, and makes the patch of a Pod that is rewritten. The ephemeralcontainers subresource changes
// no metadata, so the originals are not recorded there.
func patchPod(p *policy.Policy, r *review.Request[policy.Pod], e *policy.Effort, d *Decision) (err error) {
	if err = rewritePod(p, r, e, d); err != nil {
		return err
	}
	d.Patch, err = review.PatchPod(r.Object, d.Rewriting, r.Subresource == "")
	return err
}

// rewritten returns a Pod with the images that it is given.
func rewritten(pod *policy.Pod, d *Decision) *policy.Pod {
	final := *pod
	final.Images = d.Rewriting.Pulled(pod.Images)
	return &final
}
