package load

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestBooks(t *testing.T) {
	l := Start(t.Context(), 3, func(_ context.Context, i int64) error {
		if i%10 == 0 {
			return errors.New("read tcp 10.0.0.1:1234->10.0.0.2:443: connection reset by peer")
		}
		return nil
	})
	<-l.After(100)
	b := l.Stop()
	if b.Calls < 100 || b.Failures != b.Calls/10 {
		t.Errorf("%d calls, %d failures", b.Calls, b.Failures)
	}
	if n := b.Reasons["read tcp … connection reset by peer"]; int64(n) != b.Failures || len(b.Reasons) != 1 {
		t.Errorf("reasons are not summed up: %v", b.Reasons)
	}
	// They are in any order, because there are three workers.
	outside := func(at time.Time) bool { return at.Before(b.Begun) || at.After(b.Ended) }
	if int64(len(b.Lost)) != b.Failures || slices.ContainsFunc(b.Lost, outside) {
		t.Errorf("times of failures: %v, from %v to %v", b.Lost, b.Begun, b.Ended)
	}
}
