package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// theme contains the colours of a picture. Ours and lost differ in brightness too, for readers who do not see colours.
type theme struct {
	name                     string
	back, frame, panel, grid string // from the background to the lines on it
	text, faint              string
	ours, lost, other, good  string
	onOurs                   string   // text on a shape in ours
	series                   []string // of lines in a chart
}

func themes() []theme {
	return []theme{
		{
			name: "light", back: "#ffffff", frame: "#d0d7de", panel: "#f3f6f9", grid: "#d8dee4", text: "#1f2328",
			faint: "#57606a", ours: "#0b5cad", lost: "#c4420a", other: "#7d8792", good: "#1a7f37", onOurs: "#ffffff",
			series: []string{"#0b5cad", "#c4420a", "#1a7f37", "#8250df", "#9a6700", "#57606a", "#bf3989"},
		},
		{
			name: "dark", back: "#161b22", frame: "#3d444d", panel: "#1f2630", grid: "#353c46", text: "#e6edf3",
			faint: "#a5aeb8", ours: "#7cb8f5", lost: "#ff9057", other: "#8b949e", good: "#56d364", onOurs: "#0d1117",
			series: []string{"#7cb8f5", "#ff9057", "#56d364", "#d2a8ff", "#e3b341", "#a5aeb8", "#ff9bce"},
		},
	}
}

// width is the width of every picture, about the width of the text on GitHub and on the website. On a phone, a picture
// is half as wide, so the text is large.
const width = 720

// drawing is a picture in one theme.
type drawing struct {
	theme
	height float64
	body   strings.Builder
}

// svg returns the picture with its alternative text.
func (d *drawing) svg(alt string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %s" width="%d" height="%s" role="img"
 font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14">
<title>%s</title>
<rect x="0.5" y="0.5" width="%d" height="%s" rx="8" fill="%s" stroke="%s"/>
%s</svg>
`, width, number(d.height), width, number(d.height), html.EscapeString(alt), width-1, number(d.height-1), d.back,
		d.frame, d.body.String())
}

func (d *drawing) add(format string, args ...any) {
	for i, arg := range args {
		if n, ok := arg.(float64); ok {
			args[i] = number(n)
		}
	}
	fmt.Fprintf(&d.body, format+"\n", args...)
}

// number formats a coordinate.
func number(n float64) string { return strconv.FormatFloat(float64(int(n*10+0.5))/10, 'f', -1, 64) }

func (d *drawing) rect(x, y, w, h float64, fill string) {
	d.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, x, y, w, h, fill)
}

// box draws a rounded rectangle with an outline.
func (d *drawing) box(x, y, w, h float64, fill, stroke string) {
	d.add(`<rect x="%s" y="%s" width="%s" height="%s" rx="6" fill="%s" stroke="%s" stroke-width="1.5"/>`,
		x, y, w, h, fill, stroke)
}

func (d *drawing) line(x1, y1, x2, y2 float64, stroke string, dashed bool) {
	dash := ""
	if dashed {
		dash = ` stroke-dasharray="3 3"`
	}
	d.add(`<path d="M%s %sL%s %s" stroke="%s"%s/>`, x1, y1, x2, y2, stroke, dash)
}

// arrow draws a line through points, with a head at its end.
func (d *drawing) arrow(stroke string, dashed bool, points ...float64) {
	path, dash := strings.Builder{}, ""
	for i := 0; i < len(points); i += 2 {
		path.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + number(points[i]) + " " + number(points[i+1]))
	}
	if dashed {
		dash = ` stroke-dasharray="4 3"`
	}
	d.add(`<path d="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>`, path.String(), stroke, dash)
	n := len(points)
	x, y, dx, dy := points[n-2], points[n-1], sign(points[n-2]-points[n-4]), sign(points[n-1]-points[n-3])
	d.add(`<path d="M%s %sL%s %sL%s %sz" fill="%s"/>`, x, y, x-8*dx-4*dy, y-8*dy-4*dx, x-8*dx+4*dy, y-8*dy+4*dx, stroke)
}

func sign(n float64) float64 {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// label is the style of a text.
type label struct {
	fill   string
	anchor string // start by default
	size   float64
	bold   bool
	mono   bool
}

func (d *drawing) text(x, y float64, l label, format string, args ...any) {
	var style strings.Builder
	if l.anchor != "" {
		fmt.Fprintf(&style, ` text-anchor="%s"`, l.anchor)
	}
	if l.size != 0 {
		fmt.Fprintf(&style, ` font-size="%s"`, number(l.size))
	}
	if l.bold {
		style.WriteString(` font-weight="600"`)
	}
	if l.mono {
		style.WriteString(` font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"`)
	}
	if l.fill == "" {
		l.fill = d.theme.text
	}
	d.add(`<text x="%s" y="%s" fill="%s"%s>%s</text>`, x, y, l.fill, style.String(),
		html.EscapeString(fmt.Sprintf(format, args...)))
}

// heading draws the title of the picture and lines below it. It returns the position below them.
func (d *drawing) heading(title string, lines ...string) float64 {
	d.text(20, 34, label{bold: true, size: 18}, "%s", title)
	y := 34.0
	for _, line := range lines {
		y += 21
		d.text(20, y, label{fill: d.faint}, "%s", line)
	}
	return y
}
