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
	printLine(p, "Evergate in %s", s.Namespace)
	s.writePolicy(p)
	s.writeBackstop(p)
	s.writeReplicas(p)
	s.writeHooks(p)
	s.writeNamespaces(p)
	s.writeFailedOpen(p)
	section(p, "Not read", s.NotRead)
	section(p, "Problems", s.Problems)
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
	written := ""
	if s.Policy.Hash != "" && s.Policy.By != "" {
		written = ", written " + s.ago(s.Policy.Applied) + " by " + s.Policy.By
	}
	printLine(p, "Policy: %s in the ConfigMap %s%s", cmp.Or(s.Policy.Hash, "unknown"), s.Policy.ConfigMap, written)
}

func (s *status) writeBackstop(p *output.Printer) {
	if s.Native.Policies > 0 {
		printLine(p, "Backstop: %d native policies, exported from policy %s", s.Native.Policies,
			text.List(s.Native.Of))
	}
	if s.nativeOnly() {
		p.Line("Only the native policies enforce the policy: there are no webhooks and no replicas")
	}
	if s.Native.Files != "" {
		printLine(p, "Files of the API server: exported from policy %s", s.Native.Files)
	}
}

func (s *status) writeReplicas(p *output.Printer) {
	if len(s.Replicas) == 0 {
		return
	}
	table := [][]output.Cell{row("REPLICA", "NODE", "READY", "VERSION", "POLICY", "SINCE", "CERTIFICATE EXPIRES")}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		ready := "no"
		if r.Ready {
			ready = "yes"
		}
		hash := r.Policy
		if r.Stale {
			hash += " (cannot load a newer policy)"
		}
		table = append(table,
			row(r.Name, r.Node, ready, r.Version, hash, s.until(r.Since), s.until(r.NotAfter)))
	}
	p.Section()
	p.Table(table, nil)
}

func (s *status) writeHooks(p *output.Printer) {
	if len(s.Webhooks) == 0 {
		return
	}
	var urls []string
	table := [][]output.Cell{row("WEBHOOK", "FAILURE POLICY", "CA EXPIRES", "NAMESPACES", "FAILED OPEN")}
	for i := range s.Webhooks {
		h := &s.Webhooks[i]
		end := s.until(h.CANotAfter)
		if h.URL == "" {
			end = cmp.Or(end, "none")
		} else if !slices.Contains(urls, h.URL) {
			urls = append(urls, h.URL)
		}
		table = append(table, row(h.Name, string(h.FailurePolicy), end, number(h.Namespaces), number(h.FailedOpen)))
	}
	p.Section()
	p.Table(table, nil)
	if len(urls) > 0 {
		printLine(p, "Called by URL: %s", text.List(urls))
	}
}

// number returns a number as text, or an empty string if it is unknown.
func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func (s *status) writeNamespaces(p *output.Printer) {
	switch {
	case s.Namespaces == nil || len(s.Webhooks) == 0: // without webhooks, a namespace that has opted in is not matched
	case len(s.Matched) == 0:
		p.Section()
		p.Line("Namespaces: 0 of %d have opted in", *s.Namespaces)
	default:
		p.Section()
		printLine(p, "Namespaces: webhooks match %d of %d: %s", len(s.Matched), *s.Namespaces, text.List(s.Matched))
	}
}

// writeFailedOpen writes the number of calls that failed open. It includes the start of the API server, because the
// counter only contains the total since then.
func (s *status) writeFailedOpen(p *output.Printer) {
	if s.started.IsZero() {
		return
	}
	n := 0
	for i := range s.Webhooks {
		n += *s.Webhooks[i].FailedOpen
	}
	p.Line("Failed open: %d calls since the start of this API server %s; each API server has its own counter", n,
		s.ago(s.started))
}

// ago returns the time since t as text.
func (s *status) ago(t time.Time) string { return span(s.now.Sub(t)) + " ago" }

// until returns the time until or since t as text. It is empty for the zero time.
func (s *status) until(t time.Time) string {
	switch d := t.Sub(s.now); {
	case t.IsZero():
		return ""
	case d > 0:
		return "in " + span(d)
	}
	return s.ago(t)
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
