package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
)

const (
	// askEvery is the time between two looks at the replicas: they look at their files every second.
	askEvery = 500 * time.Millisecond
	// nudgeEvery is the time after which a Pod is nudged again: kubelet may have looked just before it learned of the
	// change.
	nudgeEvery = 3 * time.Second
)

// waiter waits until every replica reports a policy.
type waiter struct {
	*app
	cluster  *live.Cluster
	policies *revise.Policies
	hash     string
	begin    time.Time

	reported map[string]bool      // by the name of the Pod
	refused  map[string]time.Time // when a replica had refused files last at the first look
	nudged   map[string]time.Time
	nudges   int
	mayNudge bool
	last     []live.Report
}

// await waits until every replica reports a policy, and says of each when it does.
func (a *app) await(ctx context.Context, f *applyFlags, c *live.Cluster, p *revise.Policies, hash string) error {
	w := &waiter{
		app: a, cluster: c, policies: p, hash: hash, begin: a.now(),
		reported: map[string]bool{}, refused: map[string]time.Time{}, nudged: map[string]time.Time{}, mayNudge: true,
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		done, err := w.look(ctx)
		// A client refuses a call that is due after the deadline a moment before the context ends.
		if deadline, _ := ctx.Deadline(); ctx.Err() != nil || err != nil && !a.now().Before(deadline) {
			return &foundError{w.missing(f.timeout)}
		}
		if done || err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return &foundError{w.missing(f.timeout)}
		}
	}
}

// look asks the replicas once. It reports whether all have the policy.
func (w *waiter) look(ctx context.Context) (bool, error) {
	replicas, err := w.cluster.Replicas(ctx)
	if err != nil {
		return false, err
	}
	if len(replicas) == 0 {
		return false, &foundError{errors.New("there is no replica: kubectl -n " + w.cluster.Namespace + " get pods")}
	}
	reports := w.cluster.Ask(ctx, replicas, false)
	if ctx.Err() != nil {
		return false, nil //nolint:nilerr // what was not answered in time says nothing, and await reports it
	}
	w.last = reports
	missing := 0
	for i := range reports {
		r := &reports[i]
		if apierrors.IsForbidden(r.Err) {
			return false, fmt.Errorf("%s cannot be asked: %w", r.Name(), r.Err)
		}
		if r.Err == nil && r.Policy.Hash == w.hash {
			w.report(r, len(reports))
			continue
		}
		delete(w.reported, r.Name())
		missing++
		if refused := w.refusal(r); refused != nil {
			return false, refused
		}
		if err := w.nudge(ctx, r.Name()); err != nil {
			return false, err
		}
	}
	return missing == 0, nil
}

// report says that a replica has the policy, once.
func (w *waiter) report(r *live.Report, all int) {
	if w.reported[r.Name()] {
		return
	}
	w.reported[r.Name()] = true
	after := w.now().Sub(w.begin).Round(100 * time.Millisecond)
	fmt.Fprintf(w.stdout, "%d of %d: %s has it after %s\n", len(w.reported), all, r.Name(), after)
}

// refusal returns why a replica does not take the files that it has been shown since the first look; nil if it was
// shown none, or takes them. Times of the replica are compared with each other alone: its clock is not this one.
func (w *waiter) refusal(r *live.Report) error {
	if r.Err != nil {
		return nil //nolint:nilerr // missing reports it, if it lasts
	}
	var at time.Time
	if r.Policy.Refused != nil {
		at = r.Policy.Refused.At
	}
	before, seen := w.refused[r.Name()]
	if !seen {
		w.refused[r.Name()] = at
		return nil
	}
	if !r.Policy.Stale || at.Equal(before) {
		return nil
	}
	return &foundError{errors.New(refuses(r))}
}

// refuses says what a replica does not take, and why.
func refuses(r *live.Report) string {
	return fmt.Sprintf("%s refuses the policy and goes on with %s:\n%s", r.Name(), r.Policy.Hash, r.Policy.Refused.Error)
}

// nudge has kubelet show the change, unless it was asked to a moment ago, or may not be asked.
func (w *waiter) nudge(ctx context.Context, pod string) error {
	if !w.mayNudge || !w.nudged[pod].IsZero() && w.now().Sub(w.nudged[pod]) < nudgeEvery {
		return nil
	}
	w.nudged[pod] = w.now()
	w.nudges++
	err := w.policies.Nudge(ctx, pod, fmt.Sprintf("%s.%d", w.hash, w.nudges))
	switch {
	case apierrors.IsForbidden(err):
		w.mayNudge = false
		w.say("you may not patch pods in %s, so that kubelet shows the change in its own time, a minute or so: the "+
			"component plugin of the kit has a Role", w.cluster.Namespace)
	case err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil:
		return fmt.Errorf("have kubelet show the policy to %s: %w", pod, err)
	}
	return nil
}

// missing is the error of a wait that was too long: which replicas do not have the policy, and what they say.
func (w *waiter) missing(timeout time.Duration) error {
	lines := []string{fmt.Sprintf("the policy %s is applied, and after %s not every replica has it:", w.hash, timeout)}
	for i := range w.last {
		r := &w.last[i]
		switch {
		case r.Err != nil:
			lines = append(lines, fmt.Sprintf("%s cannot be asked: %v", r.Name(), r.Err))
		case r.Policy.Hash != w.hash && r.Policy.Stale && r.Policy.Refused != nil:
			lines = append(lines, refuses(r))
		case r.Policy.Hash != w.hash:
			lines = append(lines, fmt.Sprintf("%s has %s since %s", r.Name(), r.Policy.Hash,
				r.Policy.Since.UTC().Format(time.RFC3339)))
		}
	}
	if len(w.last) == 0 {
		lines = append(lines, "no replica has answered")
	}
	return errors.New(strings.Join(lines, "\n"))
}
