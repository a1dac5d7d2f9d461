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
	section(&b, "Wrong", s.problems)
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
		fmt.Fprintf(b, "Policy: none is known in the ConfigMap %s\n", s.configMap)
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
		fmt.Fprintf(b, "Backstop: %d native policies of policy %s\n", s.native, text.List(s.nativeOf))
	}
	if s.filesOf != "" {
		fmt.Fprintf(b, "Files of the API server: of policy %s\n", s.filesOf)
	}
}

// table begins a table, which ends with Flush.
func table(b *bytes.Buffer) *tabwriter.Writer { return tabwriter.NewWriter(b, 0, 0, 3, ' ', 0) }

func (s *status) writeReplicas(b *bytes.Buffer) {
	if len(s.replicas) == 0 {
		return
	}
	fmt.Fprintln(b)
	w := table(b)
	fmt.Fprintln(w, "REPLICA\tNODE\tREADY\tVERSION\tPOLICY\tSINCE\tCERTIFICATE ENDS")
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
			hash += " (refuses a newer one)"
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
	fmt.Fprintln(w, "WEBHOOK\tFAILURE POLICY\tCA ENDS\tNAMESPACES\tFAILED OPEN")
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
	case s.namespaces < 0 || len(s.hooks) == 0: // without a webhook none is matched, opted in or not
	case len(s.matched) == 0:
		fmt.Fprintf(b, "\nNamespaces: none of %d has opted in\n", s.namespaces)
	default:
		fmt.Fprintf(b, "\nNamespaces: %d of %d are matched: %s\n", len(s.matched), s.namespaces, text.List(s.matched))
	}
}

// writeFailedOpen says since when calls that failed open are counted: a counter knows no last hour.
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
		"Failed open: %d calls since the API server that answered started, %s; each API server counts its own\n",
		n,
		s.ago(s.started),
	)
}

// ago says how long ago something was.
func (s *status) ago(t time.Time) string { return span(s.now.Sub(t)) + " ago" }

// until says how long it is to the end of something.
func (s *status) until(t time.Time) string {
	if d := t.Sub(s.now); d > 0 {
		return "in " + span(d)
	}
	return span(s.now.Sub(t)) + " ago"
}

// span is a time in one unit, as kubectl shows ages.
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
