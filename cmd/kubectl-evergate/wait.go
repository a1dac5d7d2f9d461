package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// waiter waits until every replica reports a policy. One goroutine calls its methods.
type waiter struct {
	*app
	cluster  *live.Cluster
	policies *revise.Policies
	hash     string
	begin    time.Time

	replicas map[string]*waited // those of the last list, by the name of the Pod
	answers  chan live.Report
	nudges   int
	mayNudge bool
}

// waited is a replica that is waited for.
type waited struct {
	asked   bool         // and has not answered yet
	answer  *live.Report // the latest one; nil before the first
	seen    bool         // it has reported its policy
	refused time.Time    // when the replica had refused files last, when it was seen first
	nudged  time.Time
}

// has reports whether the replica has the policy.
func (r *waited) has(hash string) bool {
	return r.answer != nil && r.answer.Err == nil && r.answer.Policy.Hash == hash
}

// await waits until every replica reports a policy, and prints a line for each of them. Replicas are asked
// independently, so a replica that does not answer does not delay the others.
func (a *app) await(ctx context.Context, f *applyFlags, c *live.Cluster, p *revise.Policies, hash string) error {
	w := &waiter{
		app: a, cluster: c, policies: p, hash: hash, begin: a.now(),
		replicas: map[string]*waited{}, answers: make(chan live.Report), mayNudge: true,
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	err := w.look(ctx)
	for err == nil && !w.done() {
		select {
		case answer := <-w.answers:
			err = w.take(&answer)
		case <-again.C:
			err = w.look(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	// A client refuses a call that is due after the deadline a moment before the context ends.
	if deadline, _ := ctx.Deadline(); err != nil && (ctx.Err() != nil || !a.now().Before(deadline)) {
		return &foundError{w.missing()}
	}
	return err
}

// look lists the replicas, asks those that do not have the policy, and nudges those that are known not to have it, or
// do not answer.
func (w *waiter) look(ctx context.Context) error {
	list, err := w.cluster.Replicas(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return &foundError{errors.New("there is no replica: kubectl -n " + w.cluster.Namespace + " get pods")}
	}
	before := w.replicas
	w.replicas = map[string]*waited{}
	for _, replica := range list {
		r := before[replica.Name()]
		if r == nil {
			r = &waited{}
		}
		w.replicas[replica.Name()] = r
		if r.has(w.hash) {
			continue
		}
		if r.answer != nil || r.asked {
			if err := w.nudge(ctx, replica.Name(), r); err != nil {
				return err
			}
		}
		if !r.asked {
			r.asked = true
			go w.ask(ctx, replica)
		}
	}
	return nil
}

// ask asks a replica once. Any number of goroutines may call it.
func (w *waiter) ask(ctx context.Context, replica live.Replica) {
	answer := w.cluster.Ask(ctx, []live.Replica{replica}, false)[0]
	select {
	case w.answers <- answer:
	case <-ctx.Done():
	}
}

// take keeps the answer of a replica, and says so when the replica has the policy.
func (w *waiter) take(answer *live.Report) error {
	r := w.replicas[answer.Name()]
	if r == nil {
		return nil // it has ended meanwhile
	}
	r.asked, r.answer = false, answer
	switch {
	case apierrors.IsForbidden(answer.Err):
		return fmt.Errorf("%s cannot be asked: %w", answer.Name(), answer.Err)
	case answer.Err != nil:
		return nil //nolint:nilerr // missing reports it, if it lasts
	case r.has(w.hash):
		has := 0
		for _, other := range w.replicas {
			if other.has(w.hash) {
				has++
			}
		}
		fmt.Fprintf(w.stdout, "%d of %d: %s has it after %s\n", has, len(w.replicas), answer.Name(), w.waited())
		return nil
	}
	// A replica that refuses files again, after it was seen first, was shown this policy. Times of the replica are
	// compared with each other only: its clock is not this one.
	var at time.Time
	if answer.Policy.Refused != nil {
		at = answer.Policy.Refused.At
	}
	if !r.seen {
		r.seen, r.refused = true, at
	} else if answer.Policy.Stale && !at.Equal(r.refused) {
		return &foundError{errors.New(refuses(answer))}
	}
	return nil
}

// done reports whether every replica has the policy.
func (w *waiter) done() bool {
	for _, r := range w.replicas {
		if !r.has(w.hash) {
			return false
		}
	}
	return true
}

// waited returns how long the replicas have been waited for.
func (w *waiter) waited() time.Duration { return w.now().Sub(w.begin).Round(100 * time.Millisecond) }

// refuses says what a replica does not take, and why.
func refuses(r *live.Report) string {
	return fmt.Sprintf("%s refuses the policy and goes on with %s:\n%s", r.Name(), r.Policy.Hash, r.Policy.Refused.Error)
}

// nudge has kubelet show the change, unless it was asked to a moment ago, or may not be asked.
func (w *waiter) nudge(ctx context.Context, pod string, r *waited) error {
	if !w.mayNudge || !r.nudged.IsZero() && w.now().Sub(r.nudged) < nudgeEvery {
		return nil
	}
	r.nudged = w.now()
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

// missing is the error of a wait that has ended too early: which replicas do not have the policy, and what they say.
func (w *waiter) missing() error {
	lines := []string{fmt.Sprintf("the policy %s is applied, and after %s not every replica has it:", w.hash, w.waited())}
	for _, name := range slices.Sorted(maps.Keys(w.replicas)) {
		switch r := w.replicas[name]; {
		case r.has(w.hash):
		case r.answer == nil:
			lines = append(lines, name+" has not answered")
		case r.answer.Err != nil:
			lines = append(lines, fmt.Sprintf("%s cannot be asked: %v", name, r.answer.Err))
		case r.answer.Policy.Stale && r.answer.Policy.Refused != nil:
			lines = append(lines, refuses(r.answer))
		default:
			lines = append(lines, fmt.Sprintf("%s has %s since %s", name, r.answer.Policy.Hash,
				r.answer.Policy.Since.UTC().Format(time.RFC3339)))
		}
	}
	if len(w.replicas) == 0 {
		lines = append(lines, "the replicas could not be listed in time")
	}
	return errors.New(strings.Join(lines, "\n"))
}
