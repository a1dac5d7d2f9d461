package admission

import (
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

// reviewWorkload evaluates the Pods that a workload will create, and records the results of rewriting their images.
func reviewWorkload(p *policy.Policy, r *review.Request[object.Workload], e *policy.Effort, d *Decision) error {
	result, err := p.ReviewWorkload(r.Attributes, r.Object, r.Old, e)
	if err != nil {
		return err
	}
	d.Findings = result.Findings
	for i, rw := range result.Rewritings {
		d.Templates = append(d.Templates, Template{r.Object.Templates[i].Path, rw})
	}
	return nil
}
