package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/evergate/evergate/internal/text"
)

// write writes the status for users.
func (s *status) write(to io.Writer) error {
	var b bytes.Buffer
	printLine(&b, "Evergate in %s", s.namespace)
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
		printLine(b, "  %s", line)
	}
}

// maxLine is the maximum length of a line or of a cell of a table, in bytes. A line contains at most five names.
const maxLine = 2048

// printLine writes one line of printable text, because the arguments come from the cluster.
func printLine(to io.Writer, format string, args ...any) {
	fmt.Fprintln(to, text.Printable(fmt.Sprintf(format, args...), maxLine))
}

// row writes a row of a table. Cells are printable, and an empty cell is a dash.
func row(w *tabwriter.Writer, cells ...string) {
	for i, c := range cells {
		cells[i] = cmp.Or(text.Printable(c, maxLine), "-")
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

func (s *status) writePolicy(b *bytes.Buffer) {
	if s.policy == nil {
		printLine(b, "Policy: unknown in the ConfigMap %s", s.configMap)
		return
	}
	written := ""
	if s.applied != "" {
		written = ", written " + s.ago(s.appliedAt) + " by " + s.applied
	}
	printLine(b, "Policy: %s in the ConfigMap %s%s", s.policy.Hash(), s.configMap, written)
}

func (s *status) writeBackstop(b *bytes.Buffer) {
	if s.native > 0 {
		printLine(b, "Backstop: %d native policies, exported from policy %s", s.native, text.List(s.nativeOf))
	}
	if s.nativeOnly() {
		fmt.Fprintln(b, "Only the native policies enforce the policy: there are no webhooks and no replicas")
	}
	if s.filesOf != "" {
		printLine(b, "Files of the API server: exported from policy %s", s.filesOf)
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
	row(w, "REPLICA", "NODE", "READY", "VERSION", "POLICY", "SINCE", "CERTIFICATE EXPIRES")
	for i := range s.replicas {
		r := &s.replicas[i]
		ready := "no"
		if r.Ready() {
			ready = "yes"
		}
		since, hash, end := "", r.Policy.Hash, ""
		if !r.Policy.Since.IsZero() {
			since = s.ago(r.Policy.Since)
		}
		if r.Policy.Stale {
			hash += " (cannot load a newer policy)"
		}
		if !r.NotAfter.IsZero() {
			end = s.until(r.NotAfter)
		}
		row(w, r.Name(), r.Pod.Spec.NodeName, ready, r.Version, hash, since, end)
	}
	_ = w.Flush() // into memory
}

func (s *status) writeHooks(b *bytes.Buffer) {
	if len(s.hooks) == 0 {
		return
	}
	fmt.Fprintln(b)
	w := table(b)
	row(w, "WEBHOOK", "FAILURE POLICY", "CA EXPIRES", "NAMESPACES", "FAILED OPEN")
	for i := range s.hooks {
		h := &s.hooks[i]
		end, open, matches := "none", "", ""
		if h.url != "" {
			end = ""
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
		row(w, h.name, string(h.policy), end, matches, open)
	}
	_ = w.Flush() // into memory
	var urls []string
	for i := range s.hooks {
		if u := s.hooks[i].url; u != "" && !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	if len(urls) > 0 {
		printLine(b, "Called by URL: %s", text.List(urls))
	}
}

func (s *status) writeNamespaces(b *bytes.Buffer) {
	switch {
	case s.namespaces < 0 || len(s.hooks) == 0: // without webhooks, namespaces are not matched even if they have opted in
	case len(s.matched) == 0:
		fmt.Fprintf(b, "\nNamespaces: 0 of %d have opted in\n", s.namespaces)
	default:
		fmt.Fprintln(b)
		printLine(b, "Namespaces: webhooks match %d of %d: %s", len(s.matched), s.namespaces, text.List(s.matched))
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
