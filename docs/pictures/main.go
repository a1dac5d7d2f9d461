// Pictures draws the pictures of the documentation from figures that our tests and benchmarks wrote: make pictures.
// Each picture has a light and a dark version.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	root := "."
	files, err := draw(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
	for name, svg := range files {
		if err := os.WriteFile(filepath.Join(root, directory, name), svg, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "pictures:", err)
			os.Exit(1)
		}
	}
}

const directory = "docs/pictures"

// picture draws in one theme. Its alternative text does not contain figures, because pages repeat it.
type picture struct {
	alt  string
	draw func(d *drawing) error
}

// draw returns all pictures of the repository at root, by the name of their file.
func draw(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, p := range pictures(source(root)) {
		for _, theme := range themes() {
			d := &drawing{theme: theme}
			if err := p.draw(d); err != nil {
				return nil, fmt.Errorf("draw %s: %w", name, err)
			}
			files[name+"-"+theme.name+".svg"] = d.svg(p.alt)
		}
	}
	return files, nil
}

func pictures(s source) map[string]picture {
	return map[string]picture{
		"rollover": {"Calls that are lost while replicas are replaced. Evergate loses none. Without its drain, and with a " +
			"webhook that uses controller-runtime, calls are lost at every rollover.", s.rollover},
		"cost": {"Processor time of a review of a small, a typical and a large Pod. Evergate needs a small multiple of " +
			"a server that only reads the body. A webhook that uses controller-runtime needs much more than Evergate.", s.cost},
		"latency": {"Time to create a small, a typical and a large Pod without admission, with native policies, with " +
			"Evergate's webhooks, and with both.", s.latency},
		"trace": {"A trace of kubectl create in Jaeger: the request, the calls of the mutating and the validating webhook, " +
			"and Evergate's stages in both. The last stage leads to the rule that denies the Pod.", s.trace},
		"dashboard": {"The dashboard of the component prometheus while two replicas are replaced under load. Reviews by " +
			"outcome, latency, findings and the phases of the replicas change. No call fails.", s.dashboard},
		"lifecycle": {"The phases of an Evergate process: starting, listening, ready, draining, stopping, stopped. It is " +
			"ready after a review to itself has succeeded, and drains after SIGTERM.", lifecycle},
		"architecture": {"kube-apiserver sends an AdmissionReview to the Service. In a replica, the review passes " +
			"through the listener, the limits, the decoder, admission and the policy. The answer returns to " +
			"kube-apiserver. The certificate and the policy are files.", architecture},
	}
}

// source is the repository, which contains the figures.
type source string

func (s source) path(name string) string { return filepath.Join(string(s), name) }

// data reads a file that a test wrote.
func (s source) data(name string, into any) error {
	text, err := os.ReadFile(s.path(directory + "/data/" + name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// table returns the cells of the first table after a line of docs/performance.md, by the first cell of the row.
func (s source) table(after string) (map[string][]string, error) {
	const page = "docs/performance.md"
	text, err := os.ReadFile(s.path(page))
	if err != nil {
		return nil, err
	}
	_, rest, ok := strings.Cut(string(text), "\n"+after+"\n")
	if !ok {
		return nil, fmt.Errorf("%s does not have the line %q", page, after)
	}
	_, rest, _ = strings.Cut(rest, "\n| --- ")
	rows := map[string][]string{}
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if strings.HasPrefix(line, "| ") {
			rows[cells[0]] = cells[1:]
		} else if len(rows) > 0 {
			break
		}
	}
	return rows, nil
}

func (s source) rollover(d *drawing) error {
	var file struct {
		BurstsPerSecond, Burst                  int
		LagSeconds, PreStopSeconds, StepSeconds float64
		Runs                                    []struct {
			Name        string
			Calls, Lost int64
			Seconds     float64
			Rollovers   []float64
			LostAt      map[string]int
		}
	}
	if err := s.data("rollover.json", &file); err != nil {
		return err
	}
	titles := map[string]string{
		"evergate":               "Evergate",
		"evergate without drain": "Evergate without its drain",
		"peer":                   "Webhook that uses controller-runtime",
		"peer with preStop":      fmt.Sprintf("The same webhook, with a preStop sleep of %g s", file.PreStopSeconds),
	}
	var runs []run
	for _, r := range file.Runs {
		title, ok := titles[r.Name]
		if !ok {
			return fmt.Errorf("unknown run %q", r.Name)
		}
		at := map[float64]int{}
		for second, n := range r.LostAt {
			f, err := strconv.ParseFloat(second, 64)
			if err != nil {
				return err
			}
			at[f] = n
		}
		runs = append(runs, run{title, r.Calls, r.Lost, r.Seconds, r.Rollovers, at})
	}
	y := d.heading("Calls lost while replicas are replaced",
		fmt.Sprintf("Two replicas get %d bursts of %d calls a second from kube-apiserver's webhook client.",
			file.BurstsPerSecond, file.Burst),
		fmt.Sprintf("The Service removes a replica %g s after its termination begins. ▾ marks SIGTERM.", file.LagSeconds))
	d.losses(y, file.StepSeconds, runs)
	return nil
}

func (s source) cost(d *drawing) error {
	rows, err := s.table("<!-- peer: written by make bench-peer -->")
	if err != nil {
		return err
	}
	var groups []group
	for _, prefix := range []string{"small Pod", "typical Pod", "large Pod"} {
		for name, cells := range rows {
			if !strings.HasPrefix(name, prefix) || len(cells) != 3 {
				continue
			}
			g := group{name: name}
			for i, server := range []string{"the floor", "Evergate", "controller-runtime"} {
				micros, err := strconv.ParseFloat(strings.Fields(cells[i])[0], 64)
				if err != nil {
					return err
				}
				colour := []string{d.other, d.ours, d.lost}[i]
				g.bars = append(g.bars, bar{server, micros, thousands(int64(micros)) + " µs", colour})
			}
			groups = append(groups, g)
		}
	}
	if len(groups) != 3 {
		return fmt.Errorf("there are %d kinds of Pods, want 3", len(groups))
	}
	y := d.heading("Processor time of a review",
		"The floor is a TLS server that reads the body and answers a constant.", "Each group has a separate scale.")
	d.bars(y-8, groups, true)
	return nil
}

func (s source) latency(d *drawing) error {
	rows, err := s.table("<!-- latency: make pictures reads this table -->")
	if err != nil {
		return err
	}
	ms := regexp.MustCompile(`\(([0-9.]+) ms\)`)
	var groups []group
	for i, name := range []string{"small Pod, 1 container", "typical Pod, 5 containers", "large Pod, 20 containers"} {
		g := group{name: name}
		for _, setup := range []struct{ row, name, colour string }{
			{"none", "no admission", d.other},
			{"only native policies", "native policies", d.ours},
			{"webhooks", "webhooks", d.ours},
			{"webhooks and backstop", "both", d.ours},
		} {
			cells := rows[setup.row]
			if len(cells) != 3 {
				return fmt.Errorf("the row %q has %d figures, want 3", setup.row, len(cells))
			}
			figure := ms.FindStringSubmatch(cells[i])
			if figure == nil {
				return fmt.Errorf("%q does not contain a time", cells[i])
			}
			value, err := strconv.ParseFloat(figure[1], 64)
			if err != nil {
				return err
			}
			g.bars = append(g.bars, bar{setup.name, value, figure[1] + " ms", setup.colour})
		}
		groups = append(groups, g)
	}
	y := d.heading("Time to create a Pod", "The median for one client of kube-apiserver 1.37, without load.")
	d.bars(y-8, groups, false)
	return nil
}

func (s source) trace(d *drawing) error {
	var spans []span
	if err := s.data("trace.json", &spans); err != nil {
		return err
	}
	rule := ""
	for _, s := range spans {
		if s.Outcome == "denied" {
			rule = strings.Trim(s.Rules, `[]"`)
		}
	}
	if rule == "" {
		return fmt.Errorf("no review in the trace is denied by a rule")
	}
	y := d.heading("kubectl create of a denied Pod, as Jaeger shows its trace",
		"Spans of kube-apiserver are grey, and spans of Evergate are blue.",
		"The orange span contains the rule that denies the Pod: "+rule)
	d.trace(y, spans)
	return nil
}

func (s source) dashboard(d *drawing) error {
	var panels []panel
	if err := s.data("dashboard.json", &panels); err != nil {
		return err
	}
	y := d.heading("The dashboard", "Two replicas and an API server under load. A replica is replaced three times.")
	d.panels(y+14, panels)
	return nil
}
