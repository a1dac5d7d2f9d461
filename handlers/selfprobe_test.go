package handlers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/handlers/selfprobe"
)

func newProber(t testing.TB) *selfprobe.Prober {
	t.Helper()
	c, err := selfprobe.New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSelfProbe(t *testing.T) {
	f := newFixture(t, "")
	f.Limits.Reviews = 1
	f.SelfProbe = newProber(t)
	busy := newServer(f.Config)
	if _, err := busy.reviews.slots.Acquire(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	s := startTLS(t, busy.serving(f.Config, admission.Webhooks()))

	if err := f.SelfProbe.Check(t.Context(), s.Client(), s.URL); err != nil {
		t.Errorf("a server that is busy and healthy: %v", err)
	}
	if diff := cmp.Diff(map[string]float64{}, f.counted(t, "evergate_reviews_total")); diff != "" {
		t.Errorf("the self-probe was counted (-want +got):\n%s", diff)
	}
	if log := f.log.String(); log != "" {
		t.Errorf("the self-probe was logged:\n%s", log)
	}
}

func TestSelfProbeOfAnotherProcess(t *testing.T) {
	f := newFixture(t, "")
	f.SelfProbe = newProber(t)
	s := startTLS(t, servingOf(f.Config))
	err := newProber(t).Check(t.Context(), s.Client(), s.URL) // the self-probe of another process
	if err == nil || !strings.HasPrefix(err.Error(), "self-probe of /mutate/pods: 404 Not Found: nothing is served at") {
		t.Errorf("the self-probe of another process: %v", err)
	}
}
