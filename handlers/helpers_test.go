package handlers

import (
	"net/http"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/telemetry"
)

const testHash = "0123456789ab"

// The outcomes of decisions.
const (
	allowed     = "allowed"
	rewritten   = "rewritten"
	denied      = "denied"
	unevaluated = "unevaluated"
)

func findingOf(mode policy.Mode, tweak ...func(*policy.Finding)) policy.Finding {
	f := policy.Finding{Rule: "team-hosts", Check: "hosts.allowed", Mode: mode}
	for _, t := range tweak {
		t(&f)
	}
	return f
}

func existed(f *policy.Finding)               { f.Existed = true }
func check(name string) func(*policy.Finding) { return func(f *policy.Finding) { f.Check = name } }

func newPatch() []byte {
	return []byte(`[{"op":"replace","path":"/spec/containers/0/image","value":"x"}]`)
}

func image(o policy.Outcome, mode policy.Mode) policy.ImageOutcome {
	img := policy.ImageOutcome{Outcome: o}
	if o != policy.Malformed {
		img.Entry, img.Mode = "hub", mode
	}
	return img
}

// newReview reports a review that nobody sent.
func newReview(e *endpoint) *telemetry.Review {
	return e.telemetry.Begin(new(http.Request), time.Now(), time.Second)
}
