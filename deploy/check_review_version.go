package deploy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// reviewVersion checks that the API server sends reviews of version v1. It sends the first version of the list that it
// knows, and it knows v1beta1 too (kubernetes, pkg/admission/plugin/webhook/request in apiserver).
func reviewVersion() check {
	return check{
		id: "review-version", severity: Error,
		finds: "an Evergate webhook whose admissionReviewVersions lists v1beta1 before v1, or without v1",
		why: "the API server sends a review of the version v1beta1, which Evergate answers with status 400. Every call " +
			"fails",
		fix: "set admissionReviewVersions: [v1]",
		run: eachHook(func(_ *cluster, h *hook, r *reporter) {
			isKnown := func(version string) bool { return version == "v1" || version == "v1beta1" }
			i := slices.IndexFunc(h.AdmissionReviewVersions, isKnown)
			if i >= 0 && h.AdmissionReviewVersions[i] != "v1" {
				r.error(h.ref, "admissionReviewVersions is [%s]", text.Truncate(strings.Join(h.AdmissionReviewVersions, ", "), 100))
			}
		}),
	}
}
