package main

import (
	"maps"
	"slices"
	"strconv"
)

// run is a panel of a chart of lost calls.
type run struct {
	title       string
	calls, lost int64
	seconds     float64
	rollovers   []float64
	lostAt      map[float64]int // by the second at which the step begins
}

// lostAfter returns the number of calls that are lost between a rollover and the next one.
func (r run) lostAfter(rollover int, step float64) int {
	begin, end, n := r.rollovers[rollover], r.seconds, 0
	if rollover+1 < len(r.rollovers) {
		end = r.rollovers[rollover+1]
	}
	for at, lost := range r.lostAt {
		if at > begin-step && at <= end-step {
			n += lost
		}
	}
	return n
}

// losses draws the lost calls over time, with one panel for each run.
func (d *drawing) losses(y, step float64, runs []run) {
	const left, right, high, gap = 20.0, 700.0, 64.0, 44.0
	most, seconds := 1, 0.0
	for _, r := range runs {
		most = max(most, slices.Max(append(slices.Collect(maps.Values(r.lostAt)), 0)))
		seconds = max(seconds, r.seconds)
	}
	x := func(second float64) float64 { return left + (right-left)*second/seconds }
	for _, r := range runs {
		y += gap
		colour := d.lost
		if r.lost == 0 {
			colour = d.ours
		}
		d.text(left, y-10, label{bold: true, size: 15}, "%s", r.title)
		d.text(right, y-10, label{bold: true, size: 15, fill: colour, anchor: "end"}, "%s of %s calls lost",
			thousands(r.lost), thousands(r.calls))
		d.rect(left, y, right-left, high, d.panel)
		for i, at := range r.rollovers {
			d.line(x(at), y, x(at), y+high, d.other, true)
			d.add(`<path d="M%s %sl-4 -6h8z" fill="%s"/>`, x(at), y+6, d.other)
			if n := r.lostAfter(i, step); n > 0 {
				d.text(x(at)+9, y+16, label{fill: d.lost, size: 13}, "%d lost", n)
			}
		}
		for _, at := range slices.Sorted(maps.Keys(r.lostAt)) {
			h := (high - 8) * float64(r.lostAt[at]) / float64(most)
			d.rect(x(at), y+high-max(h, 2), x(step)-x(0)-1, max(h, 2), d.lost)
		}
		d.line(left, y+high, right, y+high, colour, false)
		y += high
	}
	for second := 0.0; second < seconds-1; second += 5 {
		d.text(x(second), y+20, label{fill: d.faint, size: 13}, "%g s", second)
		d.line(x(second), y, x(second), y+6, d.other, false)
	}
	d.height = y + 36
}

// group is a group of bars.
type group struct {
	name string
	bars []bar
}

func (g group) most() float64 {
	most := 0.0
	for _, b := range g.bars {
		most = max(most, b.value)
	}
	return most
}

type bar struct {
	name   string
	value  float64
	label  string
	colour string
}

// bars draws groups of horizontal bars. All groups have the same scale, or each has a separate scale.
func (d *drawing) bars(y float64, groups []group, separate bool) {
	const left, right, high = 210.0, 590.0, 24.0
	most := 0.0
	for _, g := range groups {
		most = max(most, g.most())
	}
	for _, g := range groups {
		if separate {
			most = g.most()
		}
		y += 36
		d.text(20, y, label{bold: true, size: 15}, "%s", g.name)
		y += 8
		for _, b := range g.bars {
			w := (right - left) * b.value / most
			d.text(left-10, y+17, label{anchor: "end"}, "%s", b.name)
			d.rect(left, y+3, w, high-6, b.colour)
			d.text(left+w+8, y+17, label{bold: true}, "%s", b.label)
			y += high
		}
	}
	d.height = y + 20
}

// span is a row of a trace.
type span struct {
	Depth           int
	Service, Name   string
	Start, Duration float64 // ms
	Outcome, Rules  string
}

// trace draws spans like Jaeger.
func (d *drawing) trace(y float64, spans []span) {
	const left, right, high = 326.0, 640.0, 21.0
	end := 0.0
	for _, s := range spans {
		end = max(end, s.Start+s.Duration)
	}
	x := func(ms float64) float64 { return left + (right-left)*ms/end }
	top := y + 30
	for ms := 0.0; ms <= end; ms += scale(end) {
		d.line(x(ms), top, x(ms), top+high*float64(len(spans))+6, d.grid, false)
		d.text(x(ms), top-6, label{fill: d.faint, anchor: "middle", size: 12}, "%g ms", ms)
	}
	y = top
	for _, s := range spans {
		y += high
		colour, name := d.other, d.theme.text
		if s.Service == "evergate" {
			colour, name = d.ours, d.ours
		}
		if s.Rules != "" {
			colour, name = d.lost, d.lost
		}
		d.text(20+float64(s.Depth)*10, y, label{fill: name, size: 13}, "%s", s.Name)
		d.rect(x(s.Start), y-11, max(2, x(s.Duration)-x(0)), 13, colour)
		d.text(x(s.Start+s.Duration)+6, y, label{fill: d.faint, size: 12}, "%.2f ms", s.Duration)
	}
	d.height = y + 24
}

// scale returns the distance of about five lines in a chart that ends at end.
func scale(end float64) float64 {
	for unit := 0.001; ; unit *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if end/(n*unit) <= 6 {
				return n * unit
			}
		}
	}
}

// thousands formats a number with separators.
func thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	rest := strconv.FormatInt(n%1000+1000, 10)
	return thousands(n/1000) + "," + rest[1:]
}
