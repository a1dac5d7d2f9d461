package reload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// source is a Value whose file and result a test sets. It records the calls of Loaded and Failed.
type source struct {
	Value[string]

	mu      sync.Mutex
	text    string
	readErr error
	reject  error
	reads   int
	builds  int
	told    []string
}

func newSource(text string) *source {
	s := &source{text: text}
	s.Read, s.Build, s.Loaded, s.Failed = s.read, s.build, s.loaded, s.failed
	return s
}

func (s *source) read() ([]File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return []File{{"file", []byte(s.text)}}, s.readErr
}

func (s *source) build(files []File) (*string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builds++
	text := string(files[0].Data)
	if text == "bad" {
		return nil, errors.New("rejected: bad")
	}
	return &text, s.reject
}

func (s *source) loaded(was, is *string) {
	if was == nil {
		was = new(string)
	}
	s.tell(fmt.Sprintf("%s -> %s", *was, *is))
}

func (s *source) failed(err error) { s.tell(err.Error()) }

func (s *source) tell(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, what)
}

// set changes the result of the next read.
func (s *source) set(text string, readErr, reject error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.readErr, s.reject = text, readErr, reject
}

// run starts Run in the bubble of the test, and stops it when the test ends.
func (s *source) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx, DefaultInterval) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
}

func pass(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

func (s *source) expect(t *testing.T, current string, told ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.Current(); got == nil && current != "" || got != nil && *got != current {
		t.Errorf("current: got %v, want %q", got, current)
	}
	if diff := cmp.Diff(told, s.told); diff != "" {
		t.Errorf("told: %s", diff)
	}
	s.told = nil
}

func TestLoad(t *testing.T) {
	s := newSource("bad")
	if err := s.Load(); err == nil || err.Error() != "rejected: bad" {
		t.Errorf("got %v", err)
	}
	s.expect(t, "", "rejected: bad")
	s.set("one", nil, nil)
	if err := s.Load(); err != nil {
		t.Error(err)
	}
	s.expect(t, "one", " -> one")
	if err := s.Load(); err != nil {
		t.Error(err)
	}
	s.expect(t, "one")
}

// The absence of files is a content like any other, and must be built at the first read too.
func TestLoadNothing(t *testing.T) {
	s := newSource("")
	s.Read = func() ([]File, error) { return nil, nil }
	s.Build = func(files []File) (*string, error) { text := fmt.Sprint(len(files)); return &text, nil }
	if err := s.Load(); err != nil {
		t.Error(err)
	}
	s.expect(t, "0", " -> 0")
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("one")
		must(t, s.Load())
		s.expect(t, "one", " -> one")
		s.run(t)
		pass(10 * DefaultInterval)
		s.expect(t, "one")

		s.set("two", nil, nil)
		pass(DefaultInterval + maxSettle)
		s.expect(t, "two", "one -> two")

		s.set("bad", nil, nil)
		pass(10 * DefaultInterval)
		s.expect(t, "two", "rejected: bad")

		s.set("bad", errors.New("permission denied"), nil)
		pass(10 * DefaultInterval)
		s.expect(t, "two", "permission denied")

		s.set("two", nil, nil)
		pass(10 * DefaultInterval)
		s.expect(t, "two", "two -> two")
	})
}

// A file that is written in place is empty or incomplete for a moment.
func TestRunWaitsForAChangeToHoldStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("one")
		must(t, s.Load())
		s.told = nil
		s.run(t)
		s.set("", nil, nil)
		pass(DefaultInterval)
		s.set("tw", nil, nil)
		pass(maxSettle)
		s.set("two", nil, nil)
		pass(maxSettle)
		s.expect(t, "one")
		pass(maxSettle)
		s.expect(t, "two", "one -> two")

		s.set("", nil, nil)
		pass(DefaultInterval)
		s.set("two", nil, nil)
		pass(maxSettle)
		s.expect(t, "two")
	})
}

// A change must stay the same for at most a second, however long the interval is.
func TestSettlesWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("one")
		go s.Run(t.Context(), time.Minute)
		pass(time.Minute + maxSettle)
		s.expect(t, "one", " -> one")
	})
}

// Renaming a file is a change.
func TestRenamed(t *testing.T) {
	name := "a"
	s := newSource("")
	s.Read = func() ([]File, error) { return []File{{name, nil}}, nil }
	s.Build = func(files []File) (*string, error) { return &files[0].Name, nil }
	_ = s.Load()
	name = "b"
	_ = s.Load()
	s.expect(t, "b", " -> a", "a -> b")
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("one")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			pass(DefaultInterval + maxSettle/2) // between a change and its confirmation
			cancel()
		}()
		s.Run(ctx, DefaultInterval)
		s.expect(t, "")
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("bad")
		go func() {
			pass(4*waitInterval + waitInterval/2)
			s.set("good", nil, nil)
		}()
		start := time.Now()
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if got := time.Since(start); got != 5*waitInterval {
			t.Errorf("waited %v, want %v", got, 5*waitInterval)
		}
		s.expect(t, "good", "rejected: bad", " -> good")
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("bad")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Wait(ctx); err == nil || err.Error() != "rejected: bad" {
			t.Errorf("got %v", err)
		}
		if s.reads > 61 {
			t.Errorf("%d reads in a minute", s.reads)
		}
		s.expect(t, "", "rejected: bad")
	})
}

// Files that fail to load for a reason of time are loaded when their time comes, and each reason is reported once.
func TestRecheck(t *testing.T) {
	for _, recheck := range []bool{false, true} {
		t.Run(fmt.Sprint(recheck), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource("one")
				s.Recheck = recheck
				s.set("one", nil, errors.New("too early"))
				_ = s.Load()
				s.run(t)
				pass(3 * DefaultInterval)
				s.expect(t, "", "too early")
				s.set("one", nil, errors.New("still too early"))
				pass(3 * DefaultInterval)
				if !recheck {
					s.expect(t, "")
					if s.builds != 1 {
						t.Errorf("built %d times", s.builds)
					}
					return
				}
				s.expect(t, "", "still too early")
				s.set("one", nil, nil)
				pass(3 * DefaultInterval)
				s.expect(t, "one", " -> one")
			})
		})
	}
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
