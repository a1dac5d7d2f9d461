package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/evergate/evergate/internal/text"
)

// write writes the status for users.
func (s *status) write(to io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Evergate in %s\n", s.namespace)
	s.writePolicy(&b)
	s.writeBackstop(&b)
	s.writeReplicas(&b)
	s.writeHooks(&b)
	s.writeNamespaces(&b)
	s.writeFailedOpen(&b)
	section(&b, "Not read", s.unread)
	section(&b, "Problems", s.problems)
	_, err := to.Write(b.Bytes())
	return err
}

func section(b *bytes.Buffer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

func (s *status) writePolicy(b *bytes.Buffer) {
	if s.policy == nil {
		fmt.Fprintf(b, "Policy: unknown in the ConfigMap %s\n", s.configMap)
		return
	}
	fmt.Fprintf(b, "Policy: %s in the ConfigMap %s", s.policy.Hash(), s.configMap)
	if s.applied != "" {
		fmt.Fprintf(b, ", written %s by %s", s.ago(s.appliedAt), s.applied)
	}
	fmt.Fprintln(b)
}

func (s *status) writeBackstop(b *bytes.Buffer) {
	if s.native > 0 {
		fmt.Fprintf(b, "Backstop: %d native policies, exported from policy %s\n", s.native, text.List(s.nativeOf))
	}
	if s.nativeOnly() {
		fmt.Fprintln(b, "Only the native policies enforce the policy: there are no webhooks and no replicas")
	}
	if s.filesOf != "" {
		fmt.Fprintf(b, "Files of the API server: exported from policy %s\n", s.filesOf)
	}
}

// table begins a table. Flush ends it.
func table(b *bytes.Buffer) *tabwriter.Writer { return tabwriter.NewWriter(b, 0, 0, 3, ' ', 0) }

func (s *status) writeReplicas(b *bytes.Buffer) {
	if len(s.replicas) == 0 {
		return
	}
	fmt.Fprintln(b)
	w := table(b)
	fmt.Fprintln(w, "REPLICA\tNODE\tREADY\tVERSION\tPOLICY\tSINCE\tCERTIFICATE EXPIRES")
	for i := range s.replicas {
		r := &s.replicas[i]
		ready := "no"
		if r.Ready() {
			ready = "yes"
		}
		since, hash, end := "-", r.Policy.Hash, "-"
		if !r.Policy.Since.IsZero() {
			since = s.ago(r.Policy.Since)
		}
		if r.Policy.Stale {
			hash += " (cannot load a newer policy)"
		}
		if !r.NotAfter.IsZero() {
			end = s.until(r.NotAfter)
		}
		fmt.Fprintf(
			w,
			"%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			r.Name(),
			dash(r.Pod.Spec.NodeName),
			ready,
			dash(r.Version),
			dash(hash),
			since,
			end,
		)
	}
	_ = w.Flush() // into memory
}

func (s *status) writeHooks(b *bytes.Buffer) {
	if len(s.hooks) == 0 {
		return
	}
	fmt.Fprintln(b)
	w := table(b)
	fmt.Fprintln(w, "WEBHOOK\tFAILURE POLICY\tCA EXPIRES\tNAMESPACES\tFAILED OPEN")
	for i := range s.hooks {
		h := &s.hooks[i]
		end, open, matches := "none", "-", "-"
		if h.url != "" {
			end = "-"
		}
		if len(h.ca) > 0 {
			end = s.until(lastEnd(h.ca))
		}
		if s.failedOpen != nil {
			open = strconv.Itoa(s.failedOpen[h.name])
		}
		if s.namespaces >= 0 {
			matches = strconv.Itoa(h.matches)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", h.name, h.policy, end, matches, open)
	}
	_ = w.Flush() // into memory
	var urls []string
	for i := range s.hooks {
		if u := s.hooks[i].url; u != "" && !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	if len(urls) > 0 {
		fmt.Fprintf(b, "Called by URL: %s\n", text.List(urls))
	}
}

func (s *status) writeNamespaces(b *bytes.Buffer) {
	switch {
	case s.namespaces < 0 || len(s.hooks) == 0: // without webhooks, namespaces are not matched even if they have opted in
	case len(s.matched) == 0:
		fmt.Fprintf(b, "\nNamespaces: 0 of %d have opted in\n", s.namespaces)
	default:
		fmt.Fprintf(b, "\nNamespaces: webhooks match %d of %d: %s\n", len(s.matched), s.namespaces, text.List(s.matched))
	}
}

// writeFailedOpen writes the number of calls that failed open. It includes the start of the API server, because the
// counter only contains the total since then.
func (s *status) writeFailedOpen(b *bytes.Buffer) {
	if s.failedOpen == nil {
		return
	}
	n := 0
	for i := range s.hooks {
		n += s.failedOpen[s.hooks[i].name]
	}
	fmt.Fprintf(
		b,
		"Failed open: %d calls since the start of this API server %s; each API server has its own counter\n",
		n,
		s.ago(s.started),
	)
}

// ago returns the time since t as text.
func (s *status) ago(t time.Time) string { return span(s.now.Sub(t)) + " ago" }

// until returns the time until t as text.
func (s *status) until(t time.Time) string {
	if d := t.Sub(s.now); d > 0 {
		return "in " + span(d)
	}
	return span(s.now.Sub(t)) + " ago"
}

// span returns a duration in one unit, in the form of ages in kubectl.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 2*day:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	default:
		return strconv.Itoa(int(d/day)) + "d"
	}
}
