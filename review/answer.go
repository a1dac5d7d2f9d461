package review

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Answer is what a review is answered with.
type Answer struct {
	UID              string
	Allowed          bool
	Message          string            // why not; only when Allowed is false
	Warnings         []string          // cut to what kube-apiserver passes on
	AuditAnnotations map[string]string // by the name part of a qualified name; other keys are left out
	Patch            []Operation       // empty: no patch is sent; nor is one when Allowed is false
}

// The API server passes on 4096 runes of warnings a request, over all webhooks; when there are more it cuts each to 256.
const (
	maxWarningRunes  = 256  // so that what it cuts is never ours
	maxWarningsRunes = 2048 // half of it: a Pod passes two of our webhooks
	maxWarnings      = 11   // the first ten findings and a count
)

// review is an AdmissionReview that answers.
type review struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

// response is an AdmissionResponse.
type response struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Status           *status           `json:"status,omitempty"`
	Patch            []byte            `json:"patch,omitempty"` // base64 on the wire
	PatchType        string            `json:"patchType,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
}

// status is a metav1.Status. Without a code the API server would answer the user with 400, and without the reason
// clients could not tell a denial from other errors.
type status struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Code    int    `json:"code"`
}

// Encode returns the AdmissionReview that carries the answer. All fields of the protocol are filled in here.
func (a Answer) Encode() []byte {
	resp := response{
		UID:              a.UID,
		Allowed:          a.Allowed,
		AuditAnnotations: auditAnnotations(a.AuditAnnotations),
		Warnings:         warnings(a.Warnings),
	}
	switch {
	case !a.Allowed:
		resp.Status = &status{"Failure", a.Message, "Forbidden", http.StatusForbidden}
	case len(a.Patch) > 0:
		resp.Patch, resp.PatchType = marshal(a.Patch), "JSONPatch"
	}
	return marshal(review{reviewVersion, reviewKind, resp})
}

// marshal encodes what consists of strings, which cannot fail.
func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("review: encoding an answer: %v", err))
	}
	return data
}

// warnings makes every warning one that the API server passes on, and says how many are left out.
func warnings(all []string) []string {
	var kept []string
	runes := 0
	for i, w := range all {
		w = warning(w)
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

// warning replaces what would make the API server drop the whole text, control characters and invalid UTF-8, and cuts
// what is long.
func warning(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= maxWarningRunes {
		return text
	}
	return string([]rune(text)[:maxWarningRunes-1]) + "…"
}

// auditAnnotations leaves out those that the API server would not accept.
func auditAnnotations(all map[string]string) map[string]string {
	valid := true
	for key := range all {
		valid = valid && validAuditKey(key)
	}
	if valid {
		return all
	}
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(key, _ string) bool { return !validAuditKey(key) })
	return kept
}

// validAuditKey says whether the API server takes the key: it puts the webhook's name and a slash before it and wants
// the whole to be a qualified name, of which this is the name part.
func validAuditKey(key string) bool {
	const maxLen = 63
	alphanumeric := func(c byte) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
	if key == "" || len(key) > maxLen || !alphanumeric(key[0]) || !alphanumeric(key[len(key)-1]) {
		return false
	}
	for _, c := range []byte(key) {
		if !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
