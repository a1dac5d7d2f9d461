package calls

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/rollover"
)

// series is the recording of a run for docs/pictures: how many calls were lost, and when.
type series struct {
	Name      string         `json:"name"`
	Calls     int64          `json:"calls"`
	Lost      int64          `json:"lost"`
	Seconds   float64        `json:"seconds"`
	Rollovers []float64      `json:"rollovers"` // the times of SIGTERM, in seconds
	LostAt    [][2]float64   `json:"lostAt"`    // the second at which a step begins, and the number of lost calls
	Reasons   map[string]int `json:"reasons"`
}

// recording is the file docs/pictures/data/rollover.json.
type recording struct {
	Command  string   `json:"command"`
	Revision string   `json:"revision"`
	Rate     int      `json:"burstsPerSecond"`
	Burst    int      `json:"burst"`
	Lag      float64  `json:"lagSeconds"`
	Step     float64  `json:"stepSeconds"`
	Runs     []series `json:"runs"`
}

const (
	pace    = 10                     // bursts per second
	lag     = 500 * time.Millisecond // until nodes have removed an endpoint
	preStop = 2 * time.Second        // a sleep in the preStop hook, which the picture mentions
	step    = 250 * time.Millisecond // of a recording
)

// TestDrainOverTime does the same rollovers with and without the drain, and with a webhook that uses
// controller-runtime. With EVERGATE_PICTURES it writes the lost calls over time to rollover.json in this directory.
func TestDrainOverTime(t *testing.T) {
	r := recording{
		Command: "make record-pictures", Rate: pace, Burst: rollover.Burst, Lag: lag.Seconds(), Step: step.Seconds(),
	}
	directory := os.Getenv("EVERGATE_PICTURES")
	if testing.Short() {
		t.Skip("it takes a minute, and TestRollOver checks the same promise")
	}
	const ours, rollovers, between = "Evergate", 5, int64(4 * pace * rollover.Burst) // calls between two rollovers
	for _, run := range []struct {
		name string
		rollover.Options
		control bool // calls must be lost
	}{
		{ours, rollover.Options{Binary: product(t), Args: rollover.Drained()}, false},
		{"Evergate without its drain", rollover.Options{Binary: product(t), Args: rollover.Undrained()}, true},
		{"Webhook that uses controller-runtime", rollover.Options{}, true},
		{"The same webhook, with a preStop sleep of 2 s", rollover.Options{PreStop: preStop}, false},
	} {
		run.Rate, run.Lag = pace, lag
		if run.Binary == "" {
			run.Binary = peer(t)
		}
		s := record(t, run.Options, rollovers, between)
		s.Name = run.name
		t.Logf("%s: %d calls, %d lost: %v", s.Name, s.Calls, s.Lost, s.Reasons)
		if run.control && s.Lost == 0 {
			t.Errorf("%s: no call was lost, so this test cannot detect a loss", s.Name)
		}
		if run.name == ours && s.Lost > 0 {
			t.Errorf("%s: calls were lost", s.Name)
		}
		r.Runs = append(r.Runs, s)
	}
	if directory != "" {
		r.write(t, filepath.Join(directory, "rollover.json"))
	}
}

// TestDemo runs the demo of make demo-drain for a moment.
func TestDemo(t *testing.T) {
	var out strings.Builder
	demo := rollover.Demo{
		Options: rollover.Options{
			Binary: product(t), Args: []string{"--drain-delay=300ms", "--drain-timeout=3s"}, Rate: 5,
			Lag: 100 * time.Millisecond,
		},
		Rollovers: 1, Pause: 600 * time.Millisecond, Live: true,
	}
	counts, err := demo.Run(t.Context(), &out)
	must(t, err)
	if counts.Sent < 50 || counts.Answered != counts.Sent || counts.Lost != 0 {
		t.Errorf("%+v", counts)
	}
	for _, want := range []string{"2 replicas are ready", "rollover 1 of 1", "\r\x1b[K", counts.String() + "\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not contain %q:\n%s", want, &out)
		}
	}
}

// peer builds the webhook that uses controller-runtime.
func peer(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peer")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", root+"/e2e/peer", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// record does rollovers and returns the lost calls over time.
func record(t *testing.T, o rollover.Options, rollovers int, between int64) series {
	t.Helper()
	c, err := rollover.Start(t.Context(), o)
	must(t, err)
	var at []time.Time
	for range rollovers {
		await(t, "calls", c.After(between))
		must(t, c.Replace(t.Context(), func() { at = append(at, time.Now().Add(o.PreStop)) }))
	}
	await(t, "calls", c.After(between))
	must(t, c.Drained(t.Context()))
	return newSeries(c.Stop(), at)
}

func newSeries(report client.Report, rollovers []time.Time) series {
	since := func(at time.Time) float64 { return at.Sub(report.Begun).Round(time.Millisecond).Seconds() }
	s := series{
		Calls: report.Calls, Lost: report.Failures, Seconds: since(report.Ended), Reasons: map[string]int{},
	}
	lost := map[float64]float64{}
	for _, at := range report.Lost {
		lost[at.Sub(report.Begun).Truncate(step).Seconds()]++
	}
	for _, begin := range slices.Sorted(maps.Keys(lost)) {
		s.LostAt = append(s.LostAt, [2]float64{begin, lost[begin]})
	}
	for _, at := range rollovers {
		s.Rollovers = append(s.Rollovers, since(at))
	}
	for why, n := range report.Reasons { // the part that is the same for each replica
		cause := why[strings.LastIndex(why, ": ")+1:]
		s.Reasons[strings.TrimSpace(cause)] += n
	}
	return s
}

func (r recording) write(t *testing.T, file string) {
	t.Helper()
	revision, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--short", "HEAD").Output()
	must(t, err)
	r.Revision = strings.TrimSpace(string(revision))
	text, err := json.MarshalIndent(r, "", " ")
	must(t, err)
	must(t, os.WriteFile(file, append(text, '\n'), 0o644))
}
