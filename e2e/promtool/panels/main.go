// Command panels evaluates the queries of a Grafana dashboard with Prometheus' engine, for the picture of the
// dashboard:
//
//	panels DASHBOARD SCRAPES > PANELS
//
// SCRAPES has a line of JSON for each scrape of a target, in the order of time. TestDashboardPicture writes
// SCRAPES.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

// scrape is the response of a target, and the labels that Prometheus would add.
type scrape struct {
	Time   int64             `json:"time"` // ms since 1970
	Labels map[string]string `json:"labels"`
	Text   string            `json:"text"`
}

// dashboard is the part of a Grafana dashboard that has queries.
type dashboard struct {
	Panels []struct {
		Title, Type string
		FieldConfig struct{ Defaults struct{ Unit string } }
		Targets     []struct{ Expr, LegendFormat string }
	}
}

// panel is a panel with its values.
type panel struct {
	Title  string   `json:"title"`
	Type   string   `json:"type"`
	Unit   string   `json:"unit"`
	Series []series `json:"series"`
}

type series struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"` // second and value
}

const (
	step     = 2 * time.Second // between points
	interval = "10s"           // of rates

	// A target that has ended disappears after this time. Prometheus would write a marker of its end.
	lookback = 2500 * time.Millisecond
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: panels DASHBOARD SCRAPES")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "panels:", err)
		os.Exit(1)
	}
}

func run(dashboardFile, scrapesFile string, out io.Writer) error {
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		return err
	}
	var board dashboard
	if err := json.Unmarshal(text, &board); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "evergate-panels-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return err
	}
	defer db.Close()
	begin, end, err := load(db, scrapesFile)
	if err != nil {
		return err
	}
	q := queries{db: db, begin: begin, end: end, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 10_000_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{}),
		LookbackDelta: lookback,
	})}
	fmt.Fprintln(out, "[")
	for i, p := range board.Panels {
		filled := panel{Title: p.Title, Type: p.Type, Unit: p.FieldConfig.Defaults.Unit, Series: []series{}}
		for _, target := range p.Targets {
			found, err := q.evaluate(target.Expr, target.LegendFormat)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Title, err)
			}
			filled.Series = append(filled.Series, found...)
		}
		line, err := json.Marshal(filled)
		if err != nil {
			return err
		}
		if i+1 < len(board.Panels) {
			line = append(line, ',')
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	fmt.Fprintln(out, "]")
	return nil
}

// load appends all samples, and returns the times of the first and the last scrape.
func load(db *tsdb.DB, file string) (begin, end time.Time, err error) {
	f, err := os.Open(file)
	if err != nil {
		return begin, end, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s scrape
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return begin, end, err
		}
		if end = time.UnixMilli(s.Time); begin.IsZero() {
			begin = end
		}
		if err := s.append(db); err != nil {
			return begin, end, err
		}
	}
	return begin, end, lines.Err()
}

func (s scrape) append(db *tsdb.DB) error {
	app := db.Appender(context.Background())
	samples := textparse.NewPromParser([]byte(s.Text), labels.NewSymbolTable(), false)
	for {
		entry, err := samples.Next()
		if errors.Is(err, io.EOF) {
			return app.Commit()
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var all labels.Labels
		samples.Labels(&all)
		b := labels.NewBuilder(all)
		for name, value := range s.Labels {
			b.Set(name, value)
		}
		_, _, value := samples.Series()
		if _, err := app.Append(0, b.Labels(), s.Time, value); err != nil {
			return err
		}
	}
}

type queries struct {
	db         *tsdb.DB
	engine     *promql.Engine
	begin, end time.Time
}

// evaluate returns the series of a query.
func (q queries) evaluate(expr, legend string) ([]series, error) {
	expr = strings.NewReplacer(
		"$__rate_interval", interval, "$cluster", ".*", "$namespace", "evergate-system",
	).Replace(expr)
	ctx := context.Background()
	query, err := q.engine.NewRangeQuery(ctx, q.db, nil, expr, q.begin, q.end, step)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	all := []series{}
	for _, found := range matrix {
		s := series{Name: name(legend, found.Metric)}
		for _, p := range found.Floats {
			if !math.IsNaN(p.F) {
				s.Points = append(s.Points, [2]float64{float64(p.T-q.begin.UnixMilli()) / 1000, rounded(p.F)})
			}
		}
		if len(s.Points) > 0 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b series) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// name fills the labels of a series into a legend.
func name(legend string, metric labels.Labels) string {
	filled := regexp.MustCompile(`{{\w+}}`).ReplaceAllStringFunc(legend, func(label string) string {
		return metric.Get(strings.Trim(label, "{}"))
	})
	return strings.Join(strings.Fields(filled), " ")
}

// rounded returns a value with four digits.
func rounded(value float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 4, 64), 64)
	if err != nil {
		return value
	}
	return short
}
