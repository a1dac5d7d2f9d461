package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/evergate/evergate/internal/text"
)

// Answer is the answer to a review.
type Answer struct {
	UID              string
	Allowed          bool
	Message          string            // the reason of a denial; ignored if Allowed is true
	Warnings         []string          // truncated to what kube-apiserver passes on
	AuditAnnotations map[string]string // by the name part of the qualified name
	Patch            []byte            // a JSON Patch, or empty; ignored if Allowed is false
}

// The API server passes on 4096 runes of warnings a request, over all webhooks. If there are more, it truncates each
// warning to 256 runes.
const (
	maxWarningRunes  = 256  // the API server never truncates such a warning
	maxWarningsRunes = 2048 // half of it, because a Pod passes two of our webhooks
	maxWarnings      = 11   // the first ten findings and a count
)

// response is the field of an AdmissionReview that carries an answer.
type response struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Status           *status           `json:"status,omitempty"`
	Patch            []byte            `json:"patch,omitempty"`
	PatchType        string            `json:"patchType,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
}

// status is a metav1.Status.
type status struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	Reason  string `json:"reason"` // without it, clients cannot distinguish a denial from other errors
	Code    int    `json:"code"`   // without it, the API server answers with 400
}

// JSON returns the AdmissionReview that carries the answer.
func (a *Answer) JSON() []byte {
	r := response{UID: a.UID, Allowed: a.Allowed, AuditAnnotations: a.AuditAnnotations, Warnings: warnings(a.Warnings)}
	switch {
	case !a.Allowed:
		r.Status = &status{Status: "Failure", Message: a.Message, Reason: "Forbidden", Code: 403}
	case len(a.Patch) > 0:
		r.Patch, r.PatchType = a.Patch, "JSONPatch"
	}
	return encode(struct {
		APIVersion string    `json:"apiVersion"`
		Kind       string    `json:"kind"`
		Response   *response `json:"response"`
	}{reviewVersion, reviewKind, &r})
}

// encode returns the JSON of v, which must consist of strings, numbers and booleans. Encoding such a value cannot fail.
func encode(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // people read answers and patches in audit logs
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// warnings returns the warnings in a form that the API server passes on. It truncates long warnings, and replaces
// control characters and invalid UTF-8, which would make the API server drop the whole text. If it omits warnings, the
// last element contains their number.
func warnings(all []string) []string {
	var kept []string
	runes := 0
	for i, w := range all {
		w = strings.TrimSpace(text.Printable(w, utf8.UTFMax*maxWarningRunes))
		w = text.TruncateRunes(w, maxWarningRunes)
		runes += utf8.RuneCountInString(w)
		if runes > maxWarningsRunes || len(kept) == maxWarnings {
			return append(kept, fmt.Sprintf("… and %d more", len(all)-i))
		}
		if w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}
