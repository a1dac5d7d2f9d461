package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// panel is a panel of the dashboard with its values.
type panel struct {
	Title, Type, Unit string
	Series            []series
}

type series struct {
	Name   string
	Points [][2]float64 // second and value
}

func (s series) last() [2]float64 { return s.Points[len(s.Points)-1] }

// Sizes of a panel.
const (
	panelWidth = 334.0
	chartHigh  = 96.0
	legendHigh = 17.0
)

// panels draws panels in two columns.
func (d *drawing) panels(y float64, all []panel) {
	end := 0.0
	for _, p := range all {
		for _, s := range p.Series {
			end = max(end, s.last()[0])
		}
	}
	for row := range slices.Chunk(all, 2) {
		high := 0.0
		for _, p := range row {
			high = max(high, p.high(end))
		}
		for i, p := range row {
			x := 20 + float64(i)*(panelWidth+12)
			d.box(x, y, panelWidth, high, d.panel, d.frame)
			d.text(x+12, y+23, label{bold: true}, "%s", p.Title)
			switch {
			case len(p.Series) == 0:
				d.text(x+panelWidth/2, y+high/2+12, label{anchor: "middle", size: 16, fill: d.faint}, "No data")
			case p.Type == "timeseries":
				d.timeseries(x+12, y+34, end, p)
			case p.Type == "state-timeline":
				d.timeline(x+12, y+38, end, p)
			default:
				d.values(x+12, y+48, end, p)
			}
		}
		y += high + 12
	}
	d.height = y + 8
}

// high returns the height of the panel, if the picture ends at the second end.
func (p panel) high(end float64) float64 {
	switch rows := float64(len(p.Series)); p.Type {
	case "timeseries":
		return 34 + chartHigh + 12 + rows*legendHigh + 8
	case "state-timeline":
		return 38 + 30*float64(len(pods(p.Series))) + 8 + legendHigh + 8
	}
	return 48 + 22*float64(len(p.current(end)))
}

// current returns the series that exist at the end.
func (p panel) current(end float64) []series {
	return slices.DeleteFunc(slices.Clone(p.Series), func(s series) bool { return s.last()[0] < end })
}

// timeseries draws lines and a legend with the last values.
func (d *drawing) timeseries(x, y, end float64, p panel) {
	const left, w = 46.0, panelWidth - 24 - 46
	most := 0.0
	for _, s := range p.Series {
		for _, point := range s.Points {
			most = max(most, point[1])
		}
	}
	if most == 0 {
		most = 1
	}
	distance := scale(most * 2)
	for value := 0.0; value <= most*1.05; value += distance {
		at := y + chartHigh - chartHigh*value/(most*1.1)
		d.line(x+left, at, x+left+w, at, d.grid, false)
		d.text(x+left-6, at+4, label{size: 11, fill: d.faint, anchor: "end"}, "%s", format(value, p.Unit))
	}
	for i, s := range p.Series {
		colour := d.series[i%len(d.series)]
		var path strings.Builder
		for j, point := range s.Points {
			path.WriteString(map[bool]string{true: "M", false: "L"}[j == 0] + number(x+left+w*point[0]/end) + " " +
				number(y+chartHigh-chartHigh*point[1]/(most*1.1)))
		}
		d.add(`<path d="%s" fill="none" stroke="%s" stroke-width="1.8" stroke-linejoin="round"/>`, path.String(), colour)
		at := y + chartHigh + 22 + float64(i)*legendHigh
		d.rect(x, at-9, 10, 10, colour)
		d.text(x+16, at, label{size: 12}, "%s", s.Name)
		d.text(x+panelWidth-24, at, label{size: 12, fill: d.faint, anchor: "end"}, "%s", format(s.last()[1], p.Unit))
	}
}

// pods returns the first words of the names, without repetitions.
func pods(all []series) []string {
	var names []string
	for _, s := range all {
		name, _, _ := strings.Cut(s.Name, " ")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// timeline draws a bar for each phase of each replica.
func (d *drawing) timeline(x, y, end float64, p panel) {
	const left, w = 80.0, panelWidth - 24 - 80
	names, phases := pods(p.Series), []string{"ready", "draining"} // the colours of these two do not change
	for _, s := range p.Series {
		pod, phase, _ := strings.Cut(s.Name, " ")
		if !slices.Contains(phases, phase) {
			phases = append(phases, phase)
		}
		at := y + 30*float64(slices.Index(names, pod))
		d.text(x, at+17, label{size: 12}, "%s", pod)
		from, to := s.Points[0][0], s.last()[0]
		d.rect(x+left+w*from/end, at+3, max(3, w*(to-from)/end), 20, d.series[slices.Index(phases, phase)%len(d.series)])
	}
	for i, phase := range phases {
		at := y + 30*float64(len(names)) + 18
		d.rect(x+float64(i)*100, at-9, 10, 10, d.series[i%len(d.series)])
		d.text(x+float64(i)*100+16, at, label{size: 12}, "%s", phase)
	}
}

// values lists the series that exist at the end, with their last values.
func (d *drawing) values(x, y, end float64, p panel) {
	for _, s := range p.current(end) {
		d.text(x, y, label{mono: true, size: 13}, "%s", s.Name)
		d.text(x+panelWidth-24, y, label{anchor: "end", bold: true}, "%s", format(s.last()[1], p.Unit))
		y += 22
	}
}

// format formats a value in a unit of Grafana.
func format(value float64, unit string) string {
	short := func(n float64) string { return fmt.Sprintf("%.3g", n) }
	switch {
	case unit == "s" && value >= 2*86400:
		return fmt.Sprintf("%.0f days", value/86400)
	case unit == "s" && value >= 2*3600:
		return fmt.Sprintf("%.0f h", value/3600)
	case unit == "s" && value >= 1:
		return fmt.Sprintf("%.0f s", math.Round(value))
	case unit == "s" && value > 0:
		return short(value*1000) + " ms"
	case unit == "reqps" || unit == "cps":
		return short(value) + "/s"
	}
	return short(value)
}
