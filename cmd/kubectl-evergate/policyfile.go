package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/policy"
)

// readPolicy reads the policy at the only path that is not empty: a file, a directory, or - for standard input. The
// manifest of a ConfigMap is an error, because kubectl can apply it.
func (a *app) readPolicy(ctx context.Context, paths ...string) ([]policy.File, error) {
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == "" })
	if len(paths) != 1 {
		return nil, errors.New("name one policy: a file, a directory or - for stdin")
	}
	path := paths[0]
	files, err := interruptible(ctx, func() ([]policy.File, error) { return cli.ReadPolicy(path, a.stdin) })
	if err != nil {
		return nil, err
	}
	for i, f := range policystore.Unwrap(files) {
		if i >= len(files) || f.Name != files[i].Name || f.Lines > 0 || len(f.Problems) > 0 {
			return nil, fmt.Errorf("%s is the manifest of a ConfigMap: use the policy file itself", path)
		}
	}
	return files, nil
}

// load compiles a policy and prints its warnings. An empty policy is an error, as in evergate policy check.
func (a *app) load(files []policy.File) (*policy.Policy, error) {
	p, err := policy.Load(files...)
	if err != nil {
		return nil, err
	}
	if p.Emptied() {
		return nil, policy.ErrEmptied
	}
	for _, warning := range p.Warnings() {
		a.say("warning: %s", warning)
	}
	return p, nil
}
