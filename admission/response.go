package admission

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

const (
	// Shown is the maximum number of findings in a denial and of warnings in a response. This is enough to fix an
	// object in one step, and not too many to read. As warnings, they fit into the 4,096 runes that kube-apiserver
	// passes on.
	Shown = 10
	// MaxSentence is the maximum size of one finding in a denial, in bytes. It may contain a value such as an
	// annotation of 256 KiB.
	MaxSentence = 1024
	// MaxName is the maximum size of a name in audit annotations and logs, in bytes. A valid name has at most 253.
	MaxName = 253
)

// Response returns the response to the review.
func (d *Decision) Response() review.Answer {
	a := review.Answer{
		UID:              d.UID,
		Allowed:          !d.Denies(),
		Warnings:         d.warnings(),
		AuditAnnotations: d.auditAnnotations(),
	}
	if a.Allowed {
		a.Patch = d.Patch
	} else {
		a.Message = d.denial()
	}
	return a
}

// HelloAnnotation on an object requests the warning of Hello in a dry run. It never changes a decision.
const HelloAnnotation = "evergate.dev/hello"

const hello = HelloAnnotation + ": %s answers with version %s and policy %s"

// Hello returns the warning by which kubectl evergate preflight recognizes that a webhook answers. The path and the
// version have at most MaxName bytes.
func (d *Decision) Hello(path, version string) string {
	return fmt.Sprintf(hello, text.Printable(path, MaxName), text.Printable(version, MaxName), d.Policy)
}

// ParseHello returns the parts of a warning of Hello. ok is false for other warnings.
func ParseHello(warning string) (path, version, hash string, ok bool) {
	n, err := fmt.Sscanf(warning, hello, &path, &version, &hash)
	return path, version, hash, n == 3 && err == nil
}

// denial returns the message of a denial. A single finding is on one line, and several findings have one line each. The
// last part is the hash of the active policy. If the review is about a new policy, this is not the hash of the new
// policy.
func (d *Decision) denial() string {
	suffix := "[policy " + d.Policy + "]"
	if d.Unevaluated.Why != "" {
		return text.Truncate(d.Unevaluated.Why, MaxSentence) + " " + suffix
	}
	lines, many := sentences{}, "findings"
	for _, f := range d.Findings {
		if f.Denies() {
			lines.add(func() string { return text.Truncate(f.String(), MaxSentence) })
		}
	}
	for _, mistake := range d.InvalidPolicy.Mistakes {
		many = "mistakes"
		lines.add(func() string { return text.Truncate(mistake, MaxSentence) })
	}
	lines.more += d.InvalidPolicy.More
	total := len(lines.kept) + lines.more
	if total == 1 {
		return lines.kept[0] + " " + suffix
	}
	head := strconv.Itoa(total) + " " + many
	if lines.more > 0 {
		head += ", the first " + strconv.Itoa(Shown)
	}
	return head + ":\n- " + strings.Join(lines.kept, "\n- ") + "\n" + suffix
}

// warnings returns the warnings for a user whose request is not denied. They start with the mode and the policy,
// because kube-apiserver may truncate the end.
func (d *Decision) warnings() []string {
	var lines sentences
	if d.Unevaluated.Mode == policy.Warn {
		lines.add(func() string { return d.tag(policy.Warn) + "not evaluated: " + d.Unevaluated.Why })
	}
	for _, img := range d.Rewriting.Images {
		if d.warnsOf(img) {
			lines.add(func() string { return d.imageWarning(img) })
		}
	}
	for _, name := range d.Rewriting.PullSecrets.Missing {
		lines.add(func() string { return "[" + d.Policy + "] " + missingSecret(name) })
	}
	for _, f := range d.Findings {
		if f.Warns() {
			lines.add(func() string { return d.findingWarning(f) })
		}
	}
	if lines.more > 0 {
		lines.kept = append(lines.kept, fmt.Sprintf("[%s] and %d more", d.Policy, lines.more))
	}
	return append(lines.kept, d.Notes...)
}

func (d *Decision) findingWarning(f policy.Finding) string {
	s := d.tag(f.Mode) + f.String()
	if f.Existed {
		s += "; existed before this update"
	}
	return s
}

func (d *Decision) imageWarning(img policy.ImageOutcome) string {
	place := img.Image.Path() + ": "
	switch img.Outcome {
	case policy.WouldRewrite:
		return d.tag(img.Mode) + img.Entry + ": " + place + img.Image.Ref + " would be pulled from " + img.To
	case policy.Rewritten:
		return d.tag(img.Mode) + img.Entry + ": " + place + img.Image.Ref + " is pulled from " + img.To
	default:
		return "[" + d.Policy + "] " + place + text.Quote(img.Image.Ref) + " is not an image reference: " + img.Detail
	}
}

// missingSecret returns the warning about a pull secret that an update cannot add.
func missingSecret(name string) string {
	return "spec.imagePullSecrets does not contain " + name + ", which the mirror may require, and an " +
		"update cannot add it: if the image is not pulled, create the Pod again"
}

func (d *Decision) tag(m policy.Mode) string { return "[" + m.String() + " " + d.Policy + "] " }
