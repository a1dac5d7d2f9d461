package calls

import (
	"context"
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
	"github.com/evergate/evergate/e2e/internal/process"
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
	burst   = 20                     // calls that begin together, as when a Deployment is scaled
	between = 4 * pace * burst       // calls between two rollovers
	lag     = 5 * burst              // calls until nodes have removed an endpoint: half a second
	preStop = 2 * time.Second        // a sleep in the preStop hook, which the picture mentions
	step    = 250 * time.Millisecond // of a recording
)

// TestDrainOverTime does the same rollovers with and without the drain, and with a webhook that uses
// controller-runtime. With EVERGATE_PICTURES it writes the lost calls over time to rollover.json in this directory.
func TestDrainOverTime(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute, and TestRollOver checks the same promise")
	}
	r := recording{
		Command: "make record-pictures", Rate: pace, Burst: burst, Lag: float64(lag) / (pace * burst), Step: step.Seconds(),
	}
	const ours = "Evergate"
	other := peer(t)
	for _, run := range []struct {
		name, binary string
		preStop      time.Duration // the time before SIGTERM, as of a sleep in the preStop hook of a Pod
		args         []string
		control      bool // calls must be lost
	}{
		{ours, product(t), 0, []string{"--drain-delay=2s", "--drain-timeout=5s"}, false},
		{"Evergate without its drain", product(t), 0, []string{
			"--drain-delay=0s", "--drain-timeout=1ms", "--shutdown-timeout=1ms",
		}, true},
		{"Webhook that uses controller-runtime", other, 0, nil, true},
		{"The same webhook, with a preStop sleep of 2 s", other, preStop, nil, false},
	} {
		t.Run(run.name, func(t *testing.T) {
			s := record(t, newCluster(t, run.binary, run.args...), run.preStop)
			s.Name = run.name
			t.Logf("%d calls, %d lost: %v", s.Calls, s.Lost, s.Reasons)
			if run.control && s.Lost == 0 {
				t.Error("no call was lost, so this test cannot detect a loss")
			}
			if run.name == ours && s.Lost > 0 {
				t.Error("calls were lost")
			}
			r.Runs = append(r.Runs, s)
		})
	}
	if directory := os.Getenv("EVERGATE_PICTURES"); directory != "" {
		r.write(t, filepath.Join(directory, "rollover.json"))
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

// record replaces one of two replicas five times while clients call them in bursts, and returns the lost calls over
// time. As in a rolling update with maxSurge 1 and maxUnavailable 0, a new replica becomes an endpoint before the old
// one gets SIGTERM. The old one remains an endpoint for a moment.
func record(t *testing.T, c *cluster, preStop time.Duration) series {
	t.Helper()
	replicas := []*process.Process{c.start(), c.start()}
	route := func() {
		var endpoints []string
		for _, p := range replicas {
			endpoints = append(endpoints, p.Addr)
		}
		c.service.Set(endpoints...)
	}
	route()
	apiServer, err := client.New(c.service, c.ca.PEM, client.ClusterIP, 10*time.Second)
	must(t, err)
	paced, end := context.WithCancel(t.Context())
	defer end()
	next := make(chan struct{})
	go bursts(paced, next)
	// With two clients for each call of a burst, a slow call does not delay the next burst.
	load := client.Start(t.Context(), apiServer, 2*burst, func(ctx context.Context, _ int64) error {
		<-next
		return mutate(ctx, apiServer)
	})
	var at []time.Time
	var replaced []*process.Process
	for range 5 {
		await(t, "calls", load.After(between))
		old := replicas[0]
		replicas = append(replicas, c.start())
		route()
		at = append(at, time.Now().Add(preStop))
		terminated := make(chan error, 1)
		time.AfterFunc(preStop, func() { terminated <- old.Terminate() })
		await(t, "calls", load.After(lag))
		replicas, replaced = replicas[1:], append(replaced, old)
		route()
		must(t, <-terminated)
	}
	await(t, "calls", load.After(between))
	for _, p := range replaced {
		await(t, "a drained replica", p.Done())
	}
	return newSeries(load.Stop(), at)
}

// bursts sends the starts of calls until the context ends. Then it closes the channel.
func bursts(ctx context.Context, next chan<- struct{}) {
	defer close(next)
	ticks := time.NewTicker(time.Second / pace)
	defer ticks.Stop()
	for i := 0; ; i++ {
		if i%burst == 0 {
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return
			}
		}
		select {
		case next <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
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
