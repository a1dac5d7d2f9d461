package review

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/text"
)

// Answer is the answer to a review.
type Answer struct {
	UID              string
	Allowed          bool
	Message          string   // why not; only when Allowed is false
	Warnings         []string // truncated to what kube-apiserver passes on
	AuditAnnotations []Annotation
	Patch            []Operation // empty: no patch is sent; nor is one when Allowed is false
}

// Annotation is an audit annotation. Its key is the name part of a qualified name, as the API server demands. No two
// annotations of an answer have the same key.
type Annotation struct{ Key, Value string }

// The API server passes on 4096 runes of warnings a request, over all webhooks; when there are more it truncates each
// to 256.
const (
	maxWarningRunes  = 256  // so that it never truncates ours
	maxWarningsRunes = 2048 // half of it: a Pod passes two of our webhooks
	maxWarnings      = 11   // the first ten findings and a count
)

// Append appends the AdmissionReview that carries the answer to b. It fills in all fields of the protocol.
//
// It writes field by field, since every review pays for it: encoding/json takes three times as long, and needs memory
// of its own for the patch.
func (a *Answer) Append(b []byte) []byte {
	b = append(b, `{"apiVersion":"`+reviewVersion+`","kind":"`+reviewKind+`","response":{"uid":`...)
	b = appendString(b, a.UID)
	b = append(b, `,"allowed":`...)
	b = strconv.AppendBool(b, a.Allowed)
	switch {
	case !a.Allowed:
		// A metav1.Status. Without a code the API server would answer the user with 400, and without the reason clients
		// could not tell a denial from other errors.
		b = append(b, `,"status":{"status":"Failure","message":`...)
		b = appendString(b, a.Message)
		b = append(b, `,"reason":"Forbidden","code":403}`...)
	case len(a.Patch) > 0:
		b = append(b, `,"patch":"`...)
		b = appendBase64(b, a.Patch)
		b = append(b, `","patchType":"JSONPatch"`...)
	}
	b = appendAuditAnnotations(b, a.AuditAnnotations)
	b = appendWarnings(b, warnings(a.Warnings))
	return append(b, "}}"...)
}

// appendBase64 writes a JSON Patch in base64. It writes the JSON first, and then the encoding in its place.
func appendBase64(b []byte, ops []Operation) []byte {
	start := len(b)
	b = appendPatch(b, ops)
	end := len(b)
	b = base64.StdEncoding.AppendEncode(b, b[start:end])
	return b[:start+copy(b[start:], b[end:])]
}

// Size is about how many bytes Append needs, so that the buffer that it is given seldom has to grow.
func (a *Answer) Size() int {
	const frame = 256                                                 // names of fields, and the patch type or the status
	n := frame + len(a.UID) + len(a.Message) + patchSize(a.Patch)*7/3 // as JSON, and behind it in base64
	for _, x := range a.AuditAnnotations {
		n += len(x.Key) + len(x.Value) + len(`"":"",`)
	}
	for _, w := range a.Warnings {
		n += len(w) + len(`"",`)
	}
	return n
}

func appendAuditAnnotations(b []byte, all []Annotation) []byte {
	separator := `,"auditAnnotations":{`
	for i := range all {
		b = append(b, separator...)
		b = appendString(b, all[i].Key)
		b = append(b, ':')
		b = appendString(b, all[i].Value)
		separator = ","
	}
	if separator == "," {
		b = append(b, '}')
	}
	return b
}

func appendWarnings(b []byte, all []string) []byte {
	separator := `,"warnings":[`
	for _, w := range all {
		b = append(b, separator...)
		b = appendString(b, w)
		separator = ","
	}
	if separator == "," {
		b = append(b, ']')
	}
	return b
}

// appendString writes a JSON string. The error of jsontext is about bytes that are not UTF-8, which it writes as
// U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// warnings makes every warning one that the API server passes on, and counts those that are left out.
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

// warning replaces what would make the API server drop the whole text, control characters and invalid UTF-8, and
// truncates what is long.
func warning(s string) string {
	const most = utf8.UTFMax * maxWarningRunes // bytes, before which the runes are not counted
	return text.TruncateRunes(strings.TrimSpace(text.Printable(s, most)), maxWarningRunes)
}
