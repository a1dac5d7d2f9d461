// Package policystore holds the active policy. It loads the policy from a file or from a directory, such as a mounted
// ConfigMap, loads it again when the files change, and keeps the last good policy if they become invalid.
//
// The result depends on the files at the path:
//
//   - A valid policy becomes active.
//   - The path, a *.yaml or *.yml file in its directory, or an entry in the files is missing. A process that starts has
//     the empty policy, which allows every object and does not rewrite images, and logs a warning. A running process
//     keeps the last policy that had entries. A ConfigMap looks like this if it is optional, was deleted, or was
//     emptied by accident. A document with allowEmpty: true is a policy in any case.
//   - The files are not a valid policy. A process does not start, and a running process keeps the last good policy.
//   - The files cannot be read, because of permissions or a failing disk. The result is the same.
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

// Observer receives the results of loading policies, for metrics. Its methods are called from one goroutine at a time.
type Observer interface {
	// PolicyLoaded is called when a policy becomes active.
	PolicyLoaded(hash string, counts policy.Counts, expiries []policy.Expiry)
	// PolicyLoadFailed is called if the files cannot be read or are not a valid policy, once for each content.
	PolicyLoadFailed()
}

// InvalidError means that the files were read and are not a valid policy.
type InvalidError struct {
	Path string
	Err  error // all mistakes, one line each
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("the policy at %s is not valid:\n%v", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *InvalidError) Unwrap() error { return e.Err }

// Store holds the active policy. Current and Status are safe for concurrent use.
type Store struct {
	path     string
	log      *slog.Logger
	observer Observer
	value    reload.Value[snapshot]
	expiries *expiryLog

	mu     sync.Mutex
	status Status
}

// snapshot is a policy and the names of its files.
type snapshot struct {
	policy *policy.Policy
	files  []string
}

// Open loads the policy at path: one file, or all *.yaml and *.yml files of a directory, merged in the order of their
// names. It returns an InvalidError if the files could be read and are not a valid policy. An empty path means that no
// policy is configured. The observer may be nil.
func Open(path string, log *slog.Logger, observer Observer) (*Store, error) {
	read := func() ([]reload.File, error) { return readFiles(path) }
	return open(path, read, log, observer)
}

// FromBytes returns a Store of one policy file that never changes, for example a file embedded in the program.
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
	s.value = reload.Value[snapshot]{Read: read, Build: s.build, Loaded: s.loaded, Failed: s.loadFailed}
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

// Run reads the files again at each interval and activates changes, until ctx ends. A change in the files is active
// after at most two intervals, or one interval and a second if that is longer. Run also logs each dated part of the
// active policy when it ends.
func (s *Store) Run(ctx context.Context, interval time.Duration) {
	var logging sync.WaitGroup
	logging.Go(func() { s.expiries.run(ctx) })
	defer logging.Wait()
	s.value.Run(ctx, interval)
}

// Current returns the active policy. Call it once for each review, because a single policy must decide the whole
// review.
func (s *Store) Current() *policy.Policy { return s.value.Current().policy }

// build compiles the files.
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

// errEmptied follows the reason in the error about a policy that has lost all of its entries.
const errEmptied = ", and the active policy has entries: write allowEmpty: true in a document to switch everything off"

// loaded records, logs and counts a policy that has just become active.
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
		msg = "the files contain the active policy again"
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
	if counts.Unique > 0 {
		s.log.Info("the unique block is not evaluated here: use evergate review, plan or test", "entries", counts.Unique)
	}
	s.observer.PolicyLoaded(hash, counts, is.policy.Expiries())
	s.expiries.load(is.policy)
}

// empty returns why a policy does not have any entries, or "" if it has some.
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

// loadFailed records, logs and counts a failure to load.
func (s *Store) loadFailed(err error) {
	inForce := s.value.Current()
	if inForce == nil {
		return // Open returns the error
	}
	s.observer.PolicyLoadFailed()
	s.record(func(st *Status) {
		st.Failures++
		st.Stale = true
		st.LastFailure = &LoadFailure{At: time.Now(), Error: err.Error()}
	})
	hash := inForce.policy.Hash()
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok {
		s.log.Error("policy cannot be read: the last good one stays active", "hash", hash, "error", err)
		return
	}
	// Each line becomes a separate log record, because each is a sentence with its file, line and column, and a
	// terminal then shows them below each other.
	lines := slices.Collect(strings.Lines(invalid.Err.Error()))
	// Package policy lists at most a hundred mistakes, and the number of the others.
	s.log.Error("policy failed to load: the last good one stays active", "hash", hash,
		"errors", policy.Mistakes(invalid.Err))
	for _, line := range lines {
		s.log.Error("policy error", "error", strings.TrimSuffix(line, "\n"))
	}
}

type nop struct{}

func (nop) PolicyLoaded(string, policy.Counts, []policy.Expiry) {}
func (nop) PolicyLoadFailed()                                   {}
