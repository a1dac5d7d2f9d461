package handlers

import (
	"strings"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// guardPolicy judges a ConfigMap that a policy lies in, so that kubectl apply refuses what the processes would refuse after
// it, with the sentences of their log: file, line, column, and what would be right. The ConfigMap is loaded as the
// processes load it when it is mounted, key by key.
//
// Which ConfigMap is sent here is the webhook configuration's business. There is no mode in which a policy that is none
// gets in, and no ratchet: what was there before is judged by nobody, and what replaces it has to be right as a whole.
func guardPolicy(_ *policy.Policy, r *review.Request[review.ConfigMap], v *verdict) {
	loaded, err := policy.Load(r.Object.Files...)
	switch {
	case err != nil:
		v.mistakes = strings.Split(err.Error(), "\n")
	case len(r.Object.Files) == 0:
		v.notes = []string{"this policy is empty: no key of the ConfigMap ends in .yaml or .yml"}
	case loaded.Counts() == (policy.Counts{}):
		v.notes = []string{"this policy is empty: no entry is switched on"}
	}
}
