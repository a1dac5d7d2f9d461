// Package policystore holds the policy in force. It loads the policy from a file or from a directory, such as a mounted
// ConfigMap, follows the changes of the files, and keeps the last good policy when they become bad.
//
// What stands at the path decides:
//
//   - a policy: it is in force;
//   - nothing, or no *.yaml or *.yml file, or files without entries: a start has the empty policy, which allows every
//     object and rewrites no image, and logs a warning; a running process keeps the last policy that had entries. So
//     looks a ConfigMap that is optional, was deleted, or was emptied by accident. A document that says
//     allowEmpty: true is a policy in any case;
//   - files that are not a valid policy: a start fails, a running process goes on with the last good policy;
//   - files that cannot be read (permission, a failing disk): the same.
package policystore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evergate/evergate/internal/reload"
	"github.com/evergate/evergate/policy"
)

// Observer is called when a policy is loaded or refused, for metrics. One goroutine calls it at a time.
type Observer interface {
	// PolicyLoaded is called when a policy comes into force.
	PolicyLoaded(hash string, counts policy.Counts, expiries []policy.Expiry)
	// PolicyRefused is called when the files cannot be read or hold no valid policy, once for each content.
	PolicyRefused()
}

// InvalidError says that files were read and are not a valid policy.
type InvalidError struct {
	Path string
	Err  error // everything that is wrong, a line each
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("the policy at %s is not valid:\n%v", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *InvalidError) Unwrap() error { return e.Err }

// Store holds the policy in force. Current and Status may be called by any goroutine.
type Store struct {
	path     string
	log      *slog.Logger
	observer Observer
	value    reload.Value[snapshot]
	expiries *expiryLog

	mu     sync.Mutex
	status Status
}

// snapshot is a policy and what it was loaded from.
type snapshot struct {
	policy *policy.Policy
	files  []string
}

// Open loads the policy at path: one file, or all *.yaml and *.yml files of a directory, merged in the order of their
// names. The error is an InvalidError when they were read and are not a policy. An empty path is one where nothing is.
// The observer may be nil.
func Open(path string, log *slog.Logger, observer Observer) (*Store, error) {
	read := func() ([]reload.File, error) { return readFiles(path) }
	return open(path, read, log, observer)
}

// FromBytes makes a Store of one policy file that never changes, such as one that is built into the program.
func FromBytes(name string, data []byte, log *slog.Logger, observer Observer) (*Store, error) {
	read := func() ([]reload.File, error) { return []reload.File{{Name: name, Data: data}}, nil }
	return open(name, read, log, observer)
}

func open(path string, read func() ([]reload.File, error), log *slog.Logger, observer Observer) (*Store, error) {
	if observer == nil {
		observer = nop{}
	}
	s := &Store{path: path, log: log.With("path", path), observer: observer}
	s.expiries = newExpiryLog(s.log)
	s.value = reload.Value[snapshot]{Read: read, Build: s.build, Loaded: s.loaded, Refused: s.refused}
	err := s.value.Load()
	switch _, invalid := errors.AsType[*InvalidError](err); {
	case err == nil:
		return s, nil
	case invalid:
		return nil, err
	default:
		return nil, fmt.Errorf("cannot read the policy: %w", err)
	}
}

// Run follows the files, looking at them at an interval, until ctx ends. A change is in force two intervals after it
// shows in the files, or an interval and a second, at most. What of the policy in force ends by date, Run logs when it
// ends.
func (s *Store) Run(ctx context.Context, interval time.Duration) {
	var logging sync.WaitGroup
	logging.Go(func() { s.expiries.run(ctx) })
	defer logging.Wait()
	s.value.Run(ctx, interval)
}

// Current returns the policy in force. Call it once for each review, so that one policy decides the whole review.
func (s *Store) Current() *policy.Policy { return s.value.Current().policy }

// build compiles what was read.
func (s *Store) build(files []reload.File) (*snapshot, error) {
	l := &snapshot{files: []string{}}
	var sources []policy.File
	for _, f := range files {
		l.files = append(l.files, f.Name)
		sources = append(sources, policy.File{Name: f.Name, Data: f.Data})
	}
	var err error
	if l.policy, err = policy.Load(sources...); err != nil {
		return nil, &InvalidError{s.path, err}
	}
	if was := s.value.Current(); l.policy.Emptied() && was != nil && was.policy.Entries() > 0 {
		return nil, &InvalidError{s.path, errors.New(l.empty(s.path) + errEmptied)}
	}
	return l, nil
}

// errEmptied is what is said, after the reason, of a policy that has lost all of its entries.
const errEmptied = ", and the policy in force has some: write allowEmpty: true in a document to switch everything off"

// loaded records, logs and counts a policy that is in force from now on.
func (s *Store) loaded(was, is *snapshot) {
	hash, counts := is.policy.Hash(), is.policy.Counts()
	level, msg := slog.LevelInfo, "policy loaded"
	attrs := []any{"hash", hash}
	changed := was == nil || was.policy.Hash() != hash
	switch {
	case was == nil:
	case changed:
		msg = "policy changed"
		attrs = append(attrs, "was", was.policy.Hash())
	default:
		msg = "the files hold the policy in force again"
	}
	if reason := is.empty(s.path); reason != "" {
		level = slog.LevelWarn
		msg += ": it is empty, every object is allowed and no image is rewritten"
		attrs = append(attrs, "reason", reason)
	}
	attrs = append(attrs, "files", is.files)
	for kind, n := range counts.All() {
		attrs = append(attrs, kind, n)
	}

	s.record(func(st *Status) {
		if changed {
			st.Since = time.Now()
		}
		if was != nil && changed {
			st.Reloads++
		}
		st.Hash, st.Counts, st.Files, st.Stale = hash, counts, is.files, false
		st.Warnings = is.policy.Warnings()
	})
	s.log.Log(context.Background(), level, msg, attrs...)
	for _, warning := range is.policy.Warnings() {
		s.log.Warn("policy warning", "warning", warning)
	}
	s.observer.PolicyLoaded(hash, counts, is.policy.Expiries())
	s.expiries.load(is.policy)
}

// empty returns why a policy has no entries; "" when it has some.
func (l *snapshot) empty(path string) string {
	switch {
	case l.policy.Counts() != policy.Counts{}:
		return ""
	case path == "":
		return "no policy is configured"
	case len(l.files) == 0:
		return "there is no policy file at " + path
	case l.policy.Entries() > 0:
		return "no entry is switched on in " + strings.Join(l.files, ", ")
	default:
		return "there is no entry in " + strings.Join(l.files, ", ")
	}
}

// refused records, logs and counts why the files were refused.
func (s *Store) refused(err error) {
	inForce := s.value.Current()
	if inForce == nil {
		return // Open returns it
	}
	s.observer.PolicyRefused()
	s.record(func(st *Status) {
		st.Failures++
		st.Stale = true
		st.Refused = &Refusal{At: time.Now(), Error: err.Error()}
	})
	hash := inForce.policy.Hash()
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok {
		s.log.Error("policy cannot be read: the last good one stays in force", "hash", hash, "error", err)
		return
	}
	// One record a line: each is a sentence with its file, line and column, and a terminal shows them below each other.
	lines := slices.Collect(strings.Lines(invalid.Err.Error()))
	// Package policy lists a hundred at most, and how many more there are.
	s.log.Error("policy refused: the last good one stays in force", "hash", hash, "errors", policy.Mistakes(invalid.Err))
	for _, line := range lines {
		s.log.Error("policy error", "error", strings.TrimSuffix(line, "\n"))
	}
}

type nop struct{}

func (nop) PolicyLoaded(string, policy.Counts, []policy.Expiry) {}
func (nop) PolicyRefused()                                      {}
