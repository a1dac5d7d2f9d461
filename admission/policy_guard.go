package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// GuardWithin is the longest time for the review of a policy. It is two thirds of the three seconds that the webhook in
// the manifests has. The 1 MiB of text that a policy can have takes a fraction of that.
const GuardWithin = 2 * time.Second

// policyGuard returns the webhook that validates policies. The self-probe sends it a policy that is denied.
func policyGuard(path string) Webhook {
	guard := kind[review.ConfigMap]{
		objects:   review.ConfigMaps(),
		selfProbe: `"data": {"selfprobe.yaml": "kind: SelfProbe"}`,
	}
	w := guard.webhook(path, guardPolicy)
	w.Guards, w.Strictest = true, func(policy.Modes) policy.Mode { return policy.Enforce }
	w.Evaluate = warnOfDeletion(w.Evaluate)
	return w
}

// warnOfDeletion adds a warning if a policy is deleted. A deletion is never denied, because a namespace must be
// deletable.
func warnOfDeletion(evaluate EvaluateFunc) EvaluateFunc {
	return func(p *policy.Policy, body []byte, now time.Time, e *policy.Effort, stage Stage) (*Decision, error) {
		d, err := evaluate(p, body, now, e, stage)
		if err == nil && d.Operation == "DELETE" {
			d.Notes = []string{"this deletes the policy: running replicas keep it active, but a new replica starts " +
				"without a policy and allows everything, unless --require-policy keeps it unready"}
		}
		return d, err
	}
}

// guardPolicy validates a ConfigMap that contains a policy. kubectl apply then fails for a policy that would fail to
// load, with the sentences that the processes would log: file, line, column, and a correction. It loads each key of the
// ConfigMap as a file, as the processes do when the ConfigMap is mounted.
//
// The webhook configuration selects the ConfigMap. A policy that fails to load is denied whatever its modes are. The
// ratchet does not apply: the old policy is not evaluated, and the whole new policy has to be valid.
func guardPolicy(_ *policy.Policy, r *review.Request[review.ConfigMap], effort *policy.Effort, d *Decision) error {
	loaded, err := policy.LoadWithin(expiring{context.Background(), effort}, policy.ReviewLimits(), r.Object.Files...)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		d.InvalidPolicy.Mistakes = []string{fmt.Sprintf("the check of this policy did not finish within %s: "+
			"make the policy smaller, or try again when the server is less busy", GuardWithin)}
	case err != nil:
		d.InvalidPolicy = invalid(err)
	case len(r.Object.Files) == 0:
		d.InvalidPolicy = emptied("no key of the ConfigMap ends in .yaml or .yml")
	case loaded.Emptied():
		d.InvalidPolicy = emptied("there is no entry in it")
	case loaded.Counts() == (policy.Counts{}):
		d.Notes = []string{"this policy switches everything off: no entry is switched on"}
	default:
		d.Notes = policyNotes(loaded.Warnings())
	}
	return nil
}

// emptied returns the mistake of a policy without entries.
func emptied(why string) InvalidPolicy {
	return InvalidPolicy{Mistakes: []string{"this policy is empty, " + why +
		": write allowEmpty: true in a document to switch everything off"}}
}

// invalid splits the error about a policy into its mistakes.
func invalid(err error) InvalidPolicy {
	mistakes := slices.Collect(strings.SplitSeq(err.Error(), "\n"))
	total := policy.Mistakes(err)
	if total > len(mistakes) {
		mistakes = mistakes[:len(mistakes)-1] // the last line is the number of the others
	}
	return InvalidPolicy{Mistakes: mistakes, More: max(0, total-len(mistakes))}
}

// policyNotes returns the warnings about a policy that is allowed, limited to the number that a response may contain.
func policyNotes(warnings []string) []string {
	var lines sentences
	for _, w := range warnings {
		lines.add(func() string { return text.Truncate(w, MaxSentence) })
	}
	if lines.more > 0 {
		lines.kept = append(lines.kept, "and "+strconv.Itoa(lines.more)+" more: evergate policy check prints all")
	}
	return lines.kept
}

// expiring is a context that is done when an effort has expired.
type expiring struct {
	context.Context
	effort *policy.Effort
}

// Err implements context.Context.
func (e expiring) Err() error {
	if e.effort.Expired != nil && e.effort.Expired() {
		return context.DeadlineExceeded
	}
	return nil
}
