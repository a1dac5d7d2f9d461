package policystore

import (
	"time"

	"github.com/evergate/evergate/policy"
)

// Status describes the active policy. The ops port shows it as JSON.
type Status struct {
	Path   string        `json:"path"`
	Files  []string      `json:"files"`
	Hash   string        `json:"hash"`
	Since  time.Time     `json:"since"` // when this process activated the policy
	Counts policy.Counts `json:"counts"`

	Warnings []string `json:"warnings,omitempty"` // about entries that do less than they seem to do, one line each

	Reloads  int `json:"reloads"`  // how many times another policy became active since the start
	Failures int `json:"failures"` // how many times files failed to load since the start, once for each content

	Stale       bool         `json:"stale"`                 // the files have changed and failed to load
	LastFailure *LoadFailure `json:"lastFailure,omitempty"` // the last failure to load, even if it has been fixed
}

// LoadFailure is the time and the reason of a failure to load.
type LoadFailure struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"` // all mistakes, one line each
}

// Status returns the status of the active policy. The caller must not change Files or LastFailure.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *Store) record(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Path = s.path
	change(&s.status)
}
