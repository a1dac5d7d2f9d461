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

// GuardWithin is how long the review of a policy may be decided at most: two thirds of the three seconds that the kit's
// webhook gives. The 1 MiB of text that a policy may have takes a fraction of that.
const GuardWithin = 2 * time.Second

// policyGuard returns the webhook that judges policies. The self-probe's is one that is refused.
func policyGuard(path string) Webhook {
	guard := kind[review.ConfigMap]{
		objects:   review.ConfigMaps(),
		selfProbe: `"data": {"selfprobe.yaml": "kind: SelfProbe"}`,
	}
	w := guard.webhook(path, guardPolicy)
	w.Guards, w.Strictest = true, func(policy.Modes) policy.Mode { return policy.Enforce }
	w.Judge = warnOfDeletion(w.Judge)
	return w
}

// warnOfDeletion adds a warning where a policy is deleted. That is never denied: a namespace must be deletable.
func warnOfDeletion(judge Judge) Judge {
	return func(p *policy.Policy, body []byte, now time.Time, e *policy.Effort, stage Stage) (*Decision, error) {
		d, err := judge(p, body, now, e, stage)
		if err == nil && d.Operation == "DELETE" {
			d.Notes = []string{"this was the policy: running replicas keep it in force, and one that starts has none and " +
				"allows everything, unless --require-policy keeps it unready"}
		}
		return d, err
	}
}

// guardPolicy judges a ConfigMap that holds a policy, so that kubectl apply refuses what the processes would refuse
// afterwards, with the sentences of their log: file, line, column, and what would be right. It loads the ConfigMap key
// by key, as the processes load it when it is mounted.
//
// The webhook configuration chooses the ConfigMap. No mode admits a policy that does not load, and there is no ratchet:
// the old policy is not judged, and the new one has to be right as a whole.
func guardPolicy(_ *policy.Policy, r *review.Request[review.ConfigMap], effort *policy.Effort, d *Decision) error {
	loaded, err := policy.LoadWithin(expiring{context.Background(), effort}, policy.ReviewLimits(), r.Object.Files...)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		d.Refused.Mistakes = []string{fmt.Sprintf("this policy was not checked to its end in time, which is %s at most: "+
			"make it smaller, or send it again when the server has less to do", GuardWithin)}
	case err != nil:
		d.Refused = refused(err)
	case len(r.Object.Files) == 0:
		d.Refused = emptied("no key of the ConfigMap ends in .yaml or .yml")
	case loaded.Emptied():
		d.Refused = emptied("there is no entry in it")
	case loaded.Counts() == (policy.Counts{}):
		d.Notes = []string{"this policy switches everything off: no entry is switched on"}
	default:
		d.Notes = policyNotes(loaded.Warnings())
	}
	return nil
}

// emptied is why a policy without entries is refused.
func emptied(why string) Refused {
	return Refused{Mistakes: []string{"this policy is empty, " + why +
		": write allowEmpty: true in a document to switch everything off"}}
}

// refused splits the error of a policy into its mistakes.
func refused(err error) Refused {
	mistakes := slices.Collect(strings.SplitSeq(err.Error(), "\n"))
	total := policy.Mistakes(err)
	if total > len(mistakes) {
		mistakes = mistakes[:len(mistakes)-1] // the last one counts the others
	}
	return Refused{Mistakes: mistakes, More: max(0, total-len(mistakes))}
}

// policyNotes are the warnings of a policy that is allowed, as many as an answer carries.
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
