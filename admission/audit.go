package admission

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// maxAnnotation is the maximum size of an audit annotation, in bytes. kube-apiserver does not have a limit, but it
// writes its audit log on every request, and log collectors truncate lines at 16 KiB or more.
const maxAnnotation = 4096

// Keys of audit annotations. kube-apiserver adds the webhook's name and a slash before each.
const (
	auditPolicy      = "policy"      // hash of the policy that decided
	auditFindings    = "findings"    // team-hosts/hosts.allowed (enforce), other/tls.required (warn, existed, 3), …
	auditImages      = "images"      // containers/app: nginx -> mirror.corp.example/library/nginx (hub, enforce)
	auditSecrets     = "secrets"     // mirror-login: pull secrets that are added
	auditUnevaluated = "unevaluated" // spec.containers[0].image: want a string, got a number (warn)
)

// auditAnnotations returns the annotations that the API server writes to its audit log. They always include the policy,
// also for a review that was allowed without a warning.
func (d *Decision) auditAnnotations() map[string]string {
	a := map[string]string{auditPolicy: d.Policy}
	if s := d.auditFindings(); s != "" {
		a[auditFindings] = s
	}
	if s := d.auditImages(); s != "" {
		a[auditImages] = s
	}
	if added := d.Rewriting.PullSecrets.Added; len(added) > 0 {
		l := line{expected: len(added)}
		for _, name := range added {
			l.add(name)
		}
		a[auditSecrets] = l.String()
	}
	if u := d.Unevaluated; u.Why != "" {
		a[auditUnevaluated] = text.Truncate(u.Why, MaxSentence) + " (" + u.Mode.String() + ")"
	}
	return a
}

// auditFindings lists each check once, in the order of the findings, with its number of findings and with the exception
// that silences it.
func (d *Decision) auditFindings() string {
	if len(d.Findings) == 0 {
		return ""
	}
	counts := map[policy.Finding]int{} // by the parts of findings that are listed
	var order []policy.Finding
	for i := range d.Findings {
		f := &d.Findings[i]
		listed := policy.Finding{Rule: f.Rule, Check: f.Check, Mode: f.Mode, Existed: f.Existed, Exempt: f.Exempt}
		if counts[listed]++; counts[listed] == 1 {
			order = append(order, listed)
		}
	}
	l := line{expected: len(order)}
	for _, f := range order {
		state, times := "", ""
		if f.Existed {
			state = ", existed"
		}
		if e := f.Exempt; e != nil {
			state = ", exempt by " + e.By() + " until " + e.Until
		}
		if n := counts[f]; n > 1 {
			times = ", " + strconv.Itoa(n)
		}
		l.add(f.Rule, "/", f.Check, " (", f.Mode.String(), state, times, ")")
	}
	return l.String()
}

// auditImages lists the images that an entry rewrites or would rewrite, each with its new reference.
func (d *Decision) auditImages() string {
	l := line{expected: len(d.Rewriting.Images)}
	for _, t := range append([]Template{{Rewriting: d.Rewriting}}, d.Templates...) {
		before := strings.TrimPrefix(t.Path+".", ".") // the field that contains the images; empty for a Pod
		for i := range t.Images {
			if img := &t.Images[i]; img.Outcome == policy.Rewritten || img.Outcome == policy.WouldRewrite {
				l.add(before, img.Image.Place.String(), "/", text.Printable(img.Image.Name, MaxName), ": ", img.Image.Ref, " -> ",
					img.To, " (", img.Entry, ", ", img.Mode.String(), ")")
			}
		}
	}
	return l.String()
}
