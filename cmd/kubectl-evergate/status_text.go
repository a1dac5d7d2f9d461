package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
)

// WriteText writes the status for users.
func (s *status) WriteText(p *output.Printer) {
	printLine(p, "Evergate in %s", s.namespace)
	s.writePolicy(p)
	s.writeBackstop(p)
	s.writeReplicas(p)
	s.writeHooks(p)
	s.writeNamespaces(p)
	s.writeFailedOpen(p)
	section(p, "Not read", s.unread)
	section(p, "Problems", s.problems)
}

func section(p *output.Printer, title string, lines []string) {
	p.Section()
	for i, line := range lines {
		if i == 0 {
			p.Line("%s:", title)
		}
		printLine(p, "  %s", line)
	}
}

// maxLine is the maximum length of a line, in bytes. A line contains at most five names.
const maxLine = 2048

// printLine writes one line of printable text, because the arguments come from the cluster.
func printLine(p *output.Printer, format string, args ...any) {
	p.Line("%s", text.Printable(fmt.Sprintf(format, args...), maxLine))
}

// row returns a row of a table. An empty cell is a dash.
func row(texts ...string) []output.Cell {
	cells := make([]output.Cell, len(texts))
	for i, s := range texts {
		cells[i].Text = cmp.Or(s, "-")
	}
	return cells
}

func (s *status) writePolicy(p *output.Printer) {
	if s.policy == nil {
		printLine(p, "Policy: unknown in the ConfigMap %s", s.configMap)
		return
	}
	written := ""
	if s.applied != "" {
		written = ", written " + s.ago(s.appliedAt) + " by " + s.applied
	}
	printLine(p, "Policy: %s in the ConfigMap %s%s", s.policy.Hash(), s.configMap, written)
}

func (s *status) writeBackstop(p *output.Printer) {
	if s.native > 0 {
		printLine(p, "Backstop: %d native policies, exported from policy %s", s.native, text.List(s.nativeOf))
	}
	if s.nativeOnly() {
		p.Line("Only the native policies enforce the policy: there are no webhooks and no replicas")
	}
	if s.filesOf != "" {
		printLine(p, "Files of the API server: exported from policy %s", s.filesOf)
	}
}

func (s *status) writeReplicas(p *output.Printer) {
	if len(s.replicas) == 0 {
		return
	}
	table := [][]output.Cell{row("REPLICA", "NODE", "READY", "VERSION", "POLICY", "SINCE", "CERTIFICATE EXPIRES")}
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
		table = append(table, row(r.Name(), r.Pod.Spec.NodeName, ready, r.Version, hash, since, end))
	}
	p.Section()
	p.Table(table, nil)
}

func (s *status) writeHooks(p *output.Printer) {
	if len(s.hooks) == 0 {
		return
	}
	var urls []string
	table := [][]output.Cell{row("WEBHOOK", "FAILURE POLICY", "CA EXPIRES", "NAMESPACES", "FAILED OPEN")}
	for i := range s.hooks {
		h := &s.hooks[i]
		end, open, matches := "none", "", ""
		if h.url != "" {
			end = ""
			if !slices.Contains(urls, h.url) {
				urls = append(urls, h.url)
			}
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
		table = append(table, row(h.name, string(h.policy), end, matches, open))
	}
	p.Section()
	p.Table(table, nil)
	if len(urls) > 0 {
		printLine(p, "Called by URL: %s", text.List(urls))
	}
}

func (s *status) writeNamespaces(p *output.Printer) {
	switch {
	case s.namespaces < 0 || len(s.hooks) == 0: // without webhooks, namespaces are not matched even if they have opted in
	case len(s.matched) == 0:
		p.Section()
		p.Line("Namespaces: 0 of %d have opted in", s.namespaces)
	default:
		p.Section()
		printLine(p, "Namespaces: webhooks match %d of %d: %s", len(s.matched), s.namespaces, text.List(s.matched))
	}
}

// writeFailedOpen writes the number of calls that failed open. It includes the start of the API server, because the
// counter only contains the total since then.
func (s *status) writeFailedOpen(p *output.Printer) {
	if s.failedOpen == nil {
		return
	}
	n := 0
	for i := range s.hooks {
		n += s.failedOpen[s.hooks[i].name]
	}
	p.Line("Failed open: %d calls since the start of this API server %s; each API server has its own counter", n,
		s.ago(s.started))
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
