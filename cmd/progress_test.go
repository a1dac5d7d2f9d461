package cmd

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/offline"
)

// objectsFor yields n objects. Each object takes a time on the clock.
func objectsFor(n int, clock *time.Time, each time.Duration) func(yield func(offline.Object, error) bool) {
	return func(yield func(offline.Object, error) bool) {
		for range n {
			*clock = clock.Add(each)
			if !yield(offline.Object{}, nil) {
				return
			}
		}
	}
}

func TestProgress(t *testing.T) {
	const none = ""
	for name, tt := range map[string]struct {
		objects int
		each    time.Duration
		want    string
	}{
		"input that is read within a second": {10_000, 50 * time.Microsecond, none},
		"one of three seconds and a half": {
			256, 14 * time.Millisecond,
			eraseLine + "128 objects read" + eraseLine + "192 objects read" + eraseLine + "256 objects read" + eraseLine,
		},
		"no more often than it can be read": {
			10_240, 200 * time.Microsecond, // about 2 s
			eraseLine + "5,056 objects read" + eraseLine + "6,080 objects read" + eraseLine + "7,104 objects read" +
				eraseLine + "8,128 objects read" + eraseLine + "9,152 objects read" + eraseLine + "10,176 objects read" + eraseLine,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			var clock time.Time
			p := &progress{to: &out, now: func() time.Time { return clock }}
			n := 0
			for _, err := range p.count(objectsFor(tt.objects, &clock, tt.each)) {
				if n++; err != nil {
					t.Error(err)
				}
			}
			if n != tt.objects {
				t.Errorf("%d objects", n)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// In a pipeline, no line is shown.
func TestNoProgressWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	var clock time.Time
	p := newProgress(&out, func() time.Time { return clock })
	for _, err := range p.count(objectsFor(1000, &clock, time.Second)) {
		if err != nil {
			t.Error(err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
