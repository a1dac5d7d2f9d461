package policystore

import (
	"time"

	"github.com/evergate/evergate/policy"
)

// Status describes the policy in force, as the ops port shows it.
type Status struct {
	Path   string        `json:"path"`
	Files  []string      `json:"files"`
	Hash   string        `json:"hash"`
	Since  time.Time     `json:"since"` // when it came into force in this process
	Counts policy.Counts `json:"counts"`

	Warnings []string `json:"warnings,omitempty"` // of entries that do less than they seem to, a line each

	Reloads  int `json:"reloads"`  // how often another policy came into force since the start
	Failures int `json:"failures"` // how often files were refused since the start, once for each content

	Stale   bool     `json:"stale"`             // the files hold something else, which was refused
	Refused *Refusal `json:"refused,omitempty"` // the last that was refused, also after it was fixed
}

// Refusal says when and why files were refused.
type Refusal struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"` // everything that is wrong, a line each
}

// Status describes the policy in force. Its Files and Refused must not be changed.
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
