package main

import (
	"fmt"
	"os"
	"strings"
)

// results contains the results of all measurements.
type results struct {
	costs     []*cost
	memory    *memories
	latency   *latencies
	startTook []float64
	size      int64
}

// row is a line of the table: the name of the value, its result and its limit, and whether the result passes.
type row struct {
	what, got, limit string
	pass             bool
}

func rowOf(what string, got, limit float64, format string) row {
	return row{what, fmt.Sprintf(format, got), fmt.Sprintf(format, limit), got <= limit}
}

// The limits of values other than the ratios, whose limits are in reviews.
const (
	mostGrowth    = 1.15 // with 10,000 mirrors and 1,000 rules
	mostOwned     = 1.20 // with 50,000 owned hosts; an Ingress of ten has twenty claims, each below +1 %
	mostIdle      = 30   // MiB
	mostLoaded    = 72   // MiB
	mostDrift     = 1.10 // of memory, from a tenth of a long run to its end
	mostStart     = 150  // ms
	mostSize      = 28   // MiB; 27.2 today, and 32 if reflection keeps every method: see newRootCommand
	mostLatencies = 3    // times the floor's
)

func (r *results) rows() []row {
	var rows []row
	for _, c := range r.costs {
		rows = append(rows, rowOf(c.review.title(), c.ratio(), c.review.limit, "%.2f"))
	}
	for _, c := range r.costs {
		what := fmt.Sprintf("%s, with %d mirrors and %d rules", c.review.name, manyMirrors, manyRules)
		rows = append(rows, rowOf(what, 100*(c.growth(c.many)-1), 100*(mostGrowth-1), "%+.0f %%"))
	}
	for _, c := range r.costs {
		if c.owned != nil {
			what := fmt.Sprintf("%s, with %d owned hosts", c.review.name, owners*hostsOfOwner)
			rows = append(rows, rowOf(what, 100*(c.growth(c.owned)-1), 100*(mostOwned-1), "%+.0f %%"))
		}
	}
	const p99 = "p99 at half of the saturation rate, as a ratio"
	switch l := r.latency; {
	case l == nil:
		rows = append(rows, row{p99, "not measured", fmt.Sprintf("%.2f", float64(mostLatencies)), false})
	case !l.quiet():
		noise := fmt.Sprintf("noise: the floor's is %.0f ms", median(l.floor))
		rows = append(rows, row{p99, noise, fmt.Sprintf("%.2f", float64(mostLatencies)), false})
	default:
		rows = append(rows, rowOf(p99, l.ratio(), mostLatencies, "%.2f"))
	}
	m := r.memory
	return append(rows,
		rowOf("resident memory, idle", mebibytes(m.idle), mostIdle, "%.0f MiB"),
		rowOf(fmt.Sprintf("peak resident memory, %d connections", crowd), mebibytes(m.most), mostLoaded, "%.0f MiB"),
		rowOf(fmt.Sprintf("growth of resident memory over the last nine tenths of %d reviews", m.length),
			100*(m.drift()-1), 100*(mostDrift-1), "%+.0f %%"),
		rowOf("time from exec to ready", median(r.startTook), mostStart, "%.0f ms"),
		rowOf("binary", mebibytes(r.size), mostSize, "%.1f MiB"),
	)
}

// markdown returns the table for docs/performance.md.
func (r *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `make bench`.\n\n| | measured | at most | |\n| --- | --- | --- | --- |\n", machine())
	for _, row := range r.rows() {
		result := "pass"
		if !row.pass {
			result = "**fail**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.what, row.got, row.limit, result)
	}
	b.WriteString("\nProcessor time of the server process for each review, in microseconds:\n\n" +
		"| review | floor | evergate | many entries |\n| --- | --- | --- | --- |\n")
	for _, c := range r.costs {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.0f |\n", c.review.title(), median(c.floor), median(c.example), median(c.many))
	}
	if l := r.latency; l != nil {
		fmt.Fprintf(&b, "\np99 at %.0f typical Pods per second: floor %.1f ms, evergate %.1f ms.\n", l.rate, median(l.floor),
			median(l.example))
	}
	return b.String()
}

// The results are between these lines.
const (
	begin, end         = "<!-- figures: written by make bench -->\n", "<!-- end of figures -->\n"
	beginPeer, endPeer = "<!-- peer: written by make bench-peer -->\n", "<!-- end of peer -->\n"
)

// write inserts the table into a document.
func (r *results) write(path string) error { return insert(path, begin, end, r.markdown()) }

// insert replaces the text between two lines of a document.
func insert(path, begin, end, results string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s does not have a place for the results: want the lines %q and %q", path, begin, end)
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+results+"\n"+end+after), 0o644)
}

// cpuModel returns the name of the processor in /proc/cpuinfo.
func cpuModel(info string) string {
	_, rest, _ := strings.Cut(info, "model name")
	line, _, _ := strings.Cut(rest, "\n")
	_, name, _ := strings.Cut(line, ":")
	return strings.Join(strings.Fields(name), " ")
}
