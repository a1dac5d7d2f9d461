package handlers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

const (
	// shown is how many findings a denial names, and how many warnings an answer carries: enough to fix an object in
	// one go, few enough to be read, and as warnings within the 4,096 runes that kube-apiserver passes on.
	shown = 10
	// maxSentence bounds the bytes of one finding in a denial: a value in it may be an annotation of 256 KiB.
	maxSentence = 1024
	// maxAnnotation bounds the bytes of one audit annotation. kube-apiserver sets no bound, but its audit log is
	// written on every request, and log collectors cut lines at 16 KiB or more.
	maxAnnotation = 4096
	// maxName bounds the bytes of a name in audit annotations and logs: a name has at most 253.
	maxName = 253
)

// answer turns a verdict into what is sent.
func (v *verdict) answer() review.Answer {
	a := review.Answer{
		UID:              v.uid,
		Allowed:          !v.denies(),
		Warnings:         v.warnings(),
		AuditAnnotations: v.annotations(),
	}
	if a.Allowed {
		a.Patch = v.patch
	} else {
		a.Message = v.denial()
	}
	return a
}

// denial is why the request is refused: one finding on one line, several on one line each, then the hash of the
// policy that decided: of the one that stays in force, where another one is refused.
func (v *verdict) denial() string {
	suffix := "[policy " + v.policy + "]"
	if v.unjudged.why != "" {
		return text.Truncate(v.unjudged.why, maxSentence) + " " + suffix
	}
	var lines few
	many := "findings"
	for i := range v.findings {
		if f := &v.findings[i]; f.Denies() && lines.room() {
			lines.add(text.Truncate(f.String(), maxSentence))
		}
	}
	for _, mistake := range v.mistakes {
		if many = "mistakes"; lines.room() {
			lines.add(text.Truncate(mistake, maxSentence))
		}
	}
	lines.total += v.untold
	if lines.total == 1 {
		return lines.kept[0] + " " + suffix
	}
	head := strconv.Itoa(lines.total) + " " + many
	if lines.more() > 0 {
		head += ", the first " + strconv.Itoa(shown)
	}
	return head + ":\n- " + strings.Join(lines.kept, "\n- ") + "\n" + suffix
}

// warnings are for the user who is not refused. Mode and policy stand first, since kube-apiserver may cut the end.
func (v *verdict) warnings() []string {
	var lines few
	if v.unjudged.mode == policy.Warn && lines.room() {
		lines.add(v.tag(policy.Warn) + "not judged: " + v.unjudged.why)
	}
	for i := range v.rewriting.Images {
		if img := &v.rewriting.Images[i]; v.warnsOf(img) && lines.room() {
			lines.add(v.imageWarning(img))
		}
	}
	for i := range v.findings {
		if f := &v.findings[i]; warnsOf(f) && lines.room() {
			lines.add(v.findingWarning(f))
		}
	}
	if n := lines.more(); n > 0 {
		lines.kept = append(lines.kept, fmt.Sprintf("[%s] and %d more", v.policy, n))
	}
	return append(lines.kept, v.notes...)
}

// warnsOf says whether a finding is told as a warning: in mode warn always, in mode enforce when it does not deny.
func warnsOf(f *policy.Finding) bool {
	return f.Mode == policy.Warn || f.Mode == policy.Enforce && f.Existed
}

func (v *verdict) findingWarning(f *policy.Finding) string {
	s := v.tag(f.Mode) + f.String()
	if f.Existed {
		s += "; existed before this update"
	}
	return s
}

// warnsOf says whether the user is told about an image: when it would be pulled from elsewhere, when nobody can tell
// from where it is pulled, and when it is rewritten where the original cannot be recorded in the object.
func (v *verdict) warnsOf(img *policy.ImageOutcome) bool {
	switch img.Outcome {
	case policy.WouldRewrite:
		return img.Mode == policy.Warn
	case policy.Rewritten:
		return v.request.Subresource != ""
	case policy.Malformed:
		return true
	default:
		return false
	}
}

func (v *verdict) imageWarning(img *policy.ImageOutcome) string {
	place := img.Image.Path() + ": "
	switch img.Outcome {
	case policy.WouldRewrite:
		return v.tag(img.Mode) + img.Entry + ": " + place + img.Image.Ref + " would be pulled from " + img.To
	case policy.Rewritten:
		return v.tag(img.Mode) + img.Entry + ": " + place + img.Image.Ref + " is pulled from " + img.To
	default:
		return "[" + v.policy + "] " + place + text.Quote(img.Image.Ref) + " is not an image reference: " + img.Detail
	}
}

func (v *verdict) tag(m policy.Mode) string { return "[" + m.String() + " " + v.policy + "] " }

// Keys of audit annotations. kube-apiserver puts the webhook's name and a slash before them.
const (
	auditPolicy   = "policy"   // hash of the policy that decided
	auditFindings = "findings" // team-hosts/hosts.allowed (enforce), other/tls.required (warn, existed, 3)
	auditImages   = "images"   // containers/app: nginx -> mirror.corp.example/library/nginx (hub, enforce)
	auditUnjudged = "unjudged" // spec.containers[0].image: want a string, got a number (warn)
)

// annotations are what the audit log tells of a review, also of one that was allowed without a word: by which policy.
func (v *verdict) annotations() []review.Annotation {
	a := make([]review.Annotation, 0, 2) // what most reviews have
	if s := v.auditFindings(); s != "" {
		a = append(a, review.Annotation{Key: auditFindings, Value: s})
	}
	if s := v.auditImages(); s != "" {
		a = append(a, review.Annotation{Key: auditImages, Value: s})
	}
	a = append(a, review.Annotation{Key: auditPolicy, Value: v.policy})
	if u := v.unjudged; u.why != "" {
		a = append(a, review.Annotation{Key: auditUnjudged, Value: text.Truncate(u.why, maxSentence) + " (" + u.mode.String() + ")"})
	}
	return a
}

// auditFindings names each check once, in the order of the findings, with how often it was broken.
func (v *verdict) auditFindings() string {
	if len(v.findings) == 0 {
		return ""
	}
	type kind struct {
		rule, check string
		mode        policy.Mode
		existed     bool
	}
	counts := map[kind]int{}
	var order []kind
	for i := range v.findings {
		f := &v.findings[i]
		k := kind{f.Rule, f.Check, f.Mode, f.Existed}
		if counts[k]++; counts[k] == 1 {
			order = append(order, k)
		}
	}
	var l listing
	for _, k := range order {
		s := k.rule + "/" + k.check + " (" + k.mode.String()
		if k.existed {
			s += ", existed"
		}
		if n := counts[k]; n > 1 {
			s += ", " + strconv.Itoa(n)
		}
		l.add(s + ")")
	}
	return l.String()
}

// auditImages names the images that an entry rewrites or would rewrite: from what, to what.
func (v *verdict) auditImages() string {
	l := listing{expected: len(v.rewriting.Images)}
	for i := range v.rewriting.Images {
		img := &v.rewriting.Images[i]
		if img.Outcome == policy.Rewritten || img.Outcome == policy.WouldRewrite {
			l.add(img.Image.Place.String(), "/", text.Printable(img.Image.Name, maxName), ": ", img.Image.Ref, " -> ", img.To,
				" (", img.Entry, ", ", img.Mode.String(), ")")
		}
	}
	return l.String()
}
