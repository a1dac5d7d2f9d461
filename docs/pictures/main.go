// Pictures draws the pictures of measured figures, with a light and a dark version of each: make pictures.
package main

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	files, err := draw(".")
	for name, svg := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, name), svg, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

const directory = "docs/pictures"

// draw returns all pictures of the repository at root, by the name of their file. The alternative texts do not contain
// figures, because pages repeat them.
func draw(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, theme := range themes() {
		rollover, cost := &drawing{theme: theme}, &drawing{theme: theme}
		if err := rollover.rollover(filepath.Join(root, directory, "data/rollover.json")); err != nil {
			return nil, err
		}
		if err := cost.cost(filepath.Join(root, "docs/performance.md")); err != nil {
			return nil, err
		}
		files["rollover-"+theme.name+".svg"] = rollover.svg("Calls that are lost while replicas are replaced. Evergate " +
			"loses none. Without its drain, and with a webhook that uses controller-runtime, calls are lost at every rollover.")
		files["cost-"+theme.name+".svg"] = cost.svg("Processor time of a review of a small, a typical and a large Pod. " +
			"Evergate needs a small multiple of a server that only reads the body. A webhook that uses controller-runtime " +
			"needs much more than Evergate.")
	}
	return files, nil
}

// run is a panel of the chart of lost calls.
type run struct {
	Name        string
	Calls, Lost int64
	Seconds     float64
	Rollovers   []float64
	LostAt      [][2]float64 // the second at which a step begins, and the number of calls
}

const left, right, panelHigh = 20.0, 700.0, 64.0

// rollover draws the lost calls over time, with one panel for each run.
func (d *drawing) rollover(file string) error {
	var data struct {
		BurstsPerSecond, Burst  int
		LagSeconds, StepSeconds float64
		Runs                    []run
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	most, end := 1.0, 0.0
	for _, r := range data.Runs {
		end = max(end, r.Seconds)
		for _, lost := range r.LostAt {
			most = max(most, lost[1])
		}
	}
	d.heading("Calls lost while replicas are replaced",
		fmt.Sprintf("Two replicas get %d bursts of %d calls a second from kube-apiserver's webhook client.",
			data.BurstsPerSecond, data.Burst),
		fmt.Sprintf("The Service removes a replica %g s after its termination begins. ▾ marks SIGTERM.", data.LagSeconds))
	y := 76.0
	for _, r := range data.Runs {
		y += 44
		d.text(left, y-10, d.dark, subtitle, "%s", r.Name)
		d.losses(y, (right-left)/end, data.StepSeconds, (panelHigh-8)/most, r)
		y += panelHigh
	}
	for at := 0.0; at < end-1; at += 5 {
		x := left + (right-left)*at/end
		d.text(x, y+20, d.faint, small, "%g s", at)
		d.line(x, y, x, y+6, d.other, "")
	}
	d.height = y + 36
	return nil
}

// losses draws the panel of a run at y. wide is the width of a second, step is in seconds, and high is the height of a
// lost call.
func (d *drawing) losses(y, wide, step, high float64, r run) {
	colour := d.lost
	if r.Lost == 0 {
		colour = d.ours
	}
	d.text(right, y-10, colour, rightEnd+subtitle, "%s of %s calls lost", thousands(r.Lost), thousands(r.Calls))
	d.rect(left, y, right-left, panelHigh, d.panel)
	ends := append(r.Rollovers[1:], r.Seconds)
	for i, at := range r.Rollovers {
		x, lost := left+wide*at, 0.0
		d.line(x, y, x, y+panelHigh, d.other, ` stroke-dasharray="3 3"`)
		d.add(`<path d="M%s %sl-4 -6h8z" fill="%s"/>`, x, y+6, d.other)
		for _, l := range r.LostAt {
			if l[0] > at-step && l[0] <= ends[i]-step {
				lost += l[1]
			}
		}
		if lost > 0 {
			d.text(x+9, y+16, d.lost, small, "%g lost", lost)
		}
	}
	for _, l := range r.LostAt {
		h := max(high*l[1], 2)
		d.rect(left+wide*l[0], y+panelHigh-h, wide*step-1, h, d.lost)
	}
	d.line(left, y+panelHigh, right, y+panelHigh, colour, "")
}

// cost draws the table that make bench-peer writes.
func (d *drawing) cost(page string) error {
	const mark, groups = "\n<!-- written by make bench-peer -->\n", 3
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	_, table, _ := strings.Cut(string(text), mark)
	d.heading("Processor time of a review",
		"The floor is a TLS server that reads the body and answers a constant.", "Each group has a separate scale.")
	rows := regexp.MustCompile(`(?m)^\| ((?:small|typical|large) Pod[^|]*) \| (\d+)[^|]* \| (\d+)[^|]* \| (\d+)`).
		FindAllStringSubmatch(table, groups)
	if len(rows) != groups {
		return fmt.Errorf("%s has %d kinds of Pods after %q, want %d", page, len(rows), mark, groups)
	}
	y := 68.0
	for _, row := range rows {
		y += 44
		d.text(left, y-8, d.dark, subtitle, "%s", row[1])
		for i, server := range []string{"the floor", "Evergate", "controller-runtime"} {
			const begin, wide = 210.0, 380.0
			micros, _ := strconv.ParseInt(row[2+i], 10, 64) // digits, and the last number is the highest
			most, _ := strconv.ParseInt(row[4], 10, 64)
			w := wide * float64(micros) / float64(most)
			d.text(begin-10, y+17, d.dark, rightEnd, "%s", server)
			d.rect(begin, y+3, w, 18, []string{d.other, d.ours, d.lost}[i])
			d.text(begin+w+8, y+17, d.dark, strong, "%s µs", thousands(micros))
			y += 24
		}
	}
	d.height = y + 20
	return nil
}

// thousands formats a number below a million.
func thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// theme contains the colours of a picture. Ours and lost differ in brightness too, for readers who do not see colours.
type theme struct {
	name, back, frame, panel, dark, faint, ours, lost, other string // dark and faint are for text
}

func themes() []theme {
	return []theme{
		{"light", "#ffffff", "#d0d7de", "#f3f6f9", "#1f2328", "#57606a", "#0b5cad", "#c4420a", "#7d8792"},
		{"dark", "#161b22", "#3d444d", "#1f2630", "#e6edf3", "#a5aeb8", "#7cb8f5", "#ff9057", "#8b949e"},
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

// line draws a line. The attributes begin with a space.
func (d *drawing) line(x1, y1, x2, y2 float64, stroke, attributes string) {
	d.add(`<path d="M%s %sL%s %s" stroke="%s"%s/>`, x1, y1, x2, y2, stroke, attributes)
}

// text draws a text. The attributes begin with a space.
func (d *drawing) text(x, y float64, fill, attributes, format string, args ...any) {
	d.add(`<text x="%s" y="%s" fill="%s"%s>%s</text>`, x, y, fill, attributes,
		html.EscapeString(fmt.Sprintf(format, args...)))
}

// Attributes of texts.
const (
	small    = ` font-size="13"`
	strong   = ` font-weight="600"`
	subtitle = ` font-size="15" font-weight="600"`
	title    = ` font-size="18" font-weight="600"`
	rightEnd = ` text-anchor="end"`
)

// heading draws the title of the picture and two lines below it, which end at y = 76.
func (d *drawing) heading(name, first, second string) {
	d.text(20, 34, d.dark, title, "%s", name)
	d.text(20, 55, d.faint, "", "%s", first)
	d.text(20, 76, d.faint, "", "%s", second)
}
