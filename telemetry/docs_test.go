package telemetry_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/telemetry"
)

var update = flag.Bool("update", false, "write the tables of metrics in docs again")

const (
	servePage = "../docs/metrics.md"
	auditPage = "../docs/audit.md"
	tableFrom = "<!-- go test ./telemetry -update writes this table -->\n"
	tableTo   = "<!-- end of table -->\n"
)

// instrument describes a metric.
type instrument struct {
	name, kind, help string
	labels           []string
	bounds           []string // of the buckets of a histogram
}

// instruments returns the instruments that g gathers, by name.
func instruments(t *testing.T, g prometheus.Gatherer) []instrument {
	t.Helper()
	families, err := g.Gather()
	must(t, err)
	var all []instrument
	for _, f := range families {
		i := instrument{name: f.GetName(), kind: strings.ToLower(f.GetType().String()), help: f.GetHelp()}
		m := f.GetMetric()[0]
		for _, l := range m.GetLabel() {
			i.labels = append(i.labels, "`"+l.GetName()+"`")
		}
		for _, b := range m.GetHistogram().GetBucket() {
			i.bounds = append(i.bounds, strconv.FormatFloat(b.GetUpperBound(), 'f', -1, 64))
		}
		all = append(all, i)
	}
	return all
}

// The tables of metrics are generated from the instruments. The test also checks the rest of the pages.
func TestDocumentedMetrics(t *testing.T) {
	checkPage(t, servePage, instruments(t, used()))
	checkPage(t, auditPage, instruments(t, someAudit()))
}

// checkGenerated compares or updates the table of a page, and returns the other parts.
func checkGenerated(t *testing.T, page, want string) (before, after string) {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	before, rest, _ := strings.Cut(string(text), tableFrom)
	got, after, ok := strings.Cut(rest, tableTo)
	if !ok {
		t.Fatalf("%s has nothing between\n%s and\n%s", page, tableFrom, tableTo)
	}
	if *update {
		must(t, os.WriteFile(page, []byte(before+tableFrom+want+tableTo+after), 0o644))
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("go test ./telemetry -update writes the table of %s again (-want +got):\n%s", page, diff)
	}
	return before, after
}

func checkPage(t *testing.T, page string, all []instrument) {
	t.Helper()
	before, after := checkGenerated(t, page, metricsTable(all))
	checkLabels(t, page, all, after)
	checkNames(t, page, all, before+after)
}

// metricsTable returns a row for each metric, followed by the buckets of the histograms.
func metricsTable(all []instrument) string {
	var table, buckets strings.Builder
	table.WriteString("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	for _, i := range all {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", i.name, i.kind, strings.Join(i.labels, ", "), i.help)
		if i.bounds != nil {
			fmt.Fprintf(&buckets, "\nBuckets of `%s`, in seconds: %s.\n", i.name, strings.Join(i.bounds, ", "))
		}
	}
	return table.String() + buckets.String()
}

var labelRow = regexp.MustCompile("(?m)^\\| (`[a-z_]+`) \\| `(evergate_[a-z_]+)` \\|")

// checkLabels checks that the page lists the values of each label of each metric, and no other label.
func checkLabels(t *testing.T, page string, all []instrument, text string) {
	t.Helper()
	var got, want []string
	for _, m := range labelRow.FindAllStringSubmatch(text, -1) {
		got = append(got, m[2]+" "+m[1])
	}
	for _, i := range all {
		for _, l := range i.labels {
			want = append(want, i.name+" "+l)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels that %s explains (-want +got):\n%s", page, diff)
	}
}

// checkNames checks that the page, including its queries, mentions only metrics that exist.
func checkNames(t *testing.T, page string, all []instrument, text string) {
	t.Helper()
	known := map[string]bool{}
	for _, i := range all {
		known[i.name] = true
		if i.bounds != nil {
			known[i.name+"_bucket"], known[i.name+"_count"], known[i.name+"_sum"] = true, true, true
		}
	}
	for _, name := range regexp.MustCompile(`\bevergate_[a-z_]+`).FindAllString(text, -1) {
		if !known[name] {
			t.Errorf("%s mentions %s, which does not exist", page, name)
		}
	}
}

// registered keeps the registered collectors, so the test can read their descriptions.
type registered struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

func (r *registered) Register(c prometheus.Collector) error {
	r.collectors = append(r.collectors, c)
	return r.Registerer.Register(c)
}

func (r *registered) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

var descName = regexp.MustCompile(`fqName: "([^"]+)"`)

// An instrument that used does not use would be missing from the page and from all checks of names.
func TestEveryInstrumentIsUsed(t *testing.T) {
	reg := &registered{Registerer: prometheus.NewRegistry()}
	telemetry.NewMetrics(reg)
	want := map[string]bool{}
	for _, c := range reg.collectors {
		descs := make(chan *prometheus.Desc, 10)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			want[descName.FindStringSubmatch(d.String())[1]] = true
		}
	}
	got := map[string]bool{}
	for _, i := range instruments(t, used()) {
		got[i.name] = true
	}
	if len(want) == 0 || !maps.Equal(want, got) {
		t.Errorf("metrics (-registered +used):\n%s", cmp.Diff(want, got))
	}
}
