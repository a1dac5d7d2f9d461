package load

import (
	"context"
	"errors"
	"testing"
)

func TestBooks(t *testing.T) {
	l := Start(t.Context(), 3, func(_ context.Context, i int64) error {
		if i%10 == 0 {
			return errors.New("read tcp 10.0.0.1:1234->10.0.0.2:443: connection reset by peer")
		}
		return nil
	})
	<-l.After(100)
	<-l.Lost()
	b := l.Stop()
	if b.Calls < 100 || b.Failures != b.Calls/10 {
		t.Errorf("%d calls, %d failures", b.Calls, b.Failures)
	}
	if n := b.Reasons["read tcp … connection reset by peer"]; int64(n) != b.Failures || len(b.Reasons) != 1 {
		t.Errorf("reasons are not summed up: %v", b.Reasons)
	}
	if int64(len(b.Lost)) != b.Failures || b.Lost[0].Before(b.Begun) || b.Ended.Before(b.Lost[len(b.Lost)-1]) {
		t.Errorf("times of failures: %v, from %v to %v", b.Lost, b.Begun, b.Ended)
	}
}
