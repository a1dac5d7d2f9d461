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

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
)

const (
	// askEvery is the interval between two requests to a replica. Replicas check their files every second.
	askEvery = 500 * time.Millisecond
	// nudgeEvery is the time after which a Pod is nudged again. kubelet may have checked the volume just before it
	// learned about the change.
	nudgeEvery = 3 * time.Second
)

// waiter waits until every replica reports a policy. Its methods must be called from one goroutine.
type waiter struct {
	*app
	cluster  *live.Cluster
	policies *revise.Policies
	hash     string
	begin    time.Time

	replicas map[string]*waited // from the last list, by the name of the Pod
	answers  chan live.Answer
	nudges   int
	mayNudge bool
}

// waited is a replica that the waiter waits for.
type waited struct {
	asked  bool         // a request is running
	answer *live.Answer // the latest answer; nil before the first
	seen   bool         // it has reported its policy
	failed time.Time    // the time of its last load failure, as first reported
	nudged time.Time
}

// has reports whether the replica has the policy.
func (r *waited) has(hash string) bool {
	return r.answer != nil && r.answer.Err == nil && r.answer.Policy.Hash == hash
}

// await waits until every replica reports a policy, and prints a line for each replica. Replicas are queried
// independently, so a replica that does not answer does not delay the others.
func (a *app) await(ctx context.Context, f *applyFlags, c *live.Cluster, p *revise.Policies, hash string) error {
	w := &waiter{
		app: a, cluster: c, policies: p, hash: hash, begin: a.now(),
		replicas: map[string]*waited{}, answers: make(chan live.Answer), mayNudge: true,
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
	// A client rejects a call that would end after the deadline shortly before the context ends.
	if deadline, _ := ctx.Deadline(); err != nil && (ctx.Err() != nil || !a.now().Before(deadline)) {
		return cli.Problem(w.missing())
	}
	return err
}

// look lists the replicas and queries the replicas that do not have the policy. It nudges replicas that have reported
// another policy or do not answer.
func (w *waiter) look(ctx context.Context) error {
	list, err := w.cluster.Replicas(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return cli.Problem(errors.New("there are no replicas: kubectl -n " + w.cluster.Namespace + " get pods"))
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

// ask queries a replica once. It is safe for concurrent use.
func (w *waiter) ask(ctx context.Context, replica live.Replica) {
	answer := w.cluster.Ask(ctx, []live.Replica{replica}, false)[0]
	select {
	case w.answers <- answer:
	case <-ctx.Done():
	}
}

// take stores the answer of a replica. It prints a line if the replica has the policy.
func (w *waiter) take(answer *live.Answer) error {
	r := w.replicas[answer.Name()]
	if r == nil {
		return nil // the replica has ended in the meantime
	}
	r.asked, r.answer = false, answer
	switch {
	case apierrors.IsForbidden(answer.Err):
		return fmt.Errorf("%s does not answer: %w", answer.Name(), answer.Err)
	case answer.Err != nil:
		return nil //nolint:nilerr // missing reports a persistent error
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
	// A replica with a new load failure, after its first report, has read this policy. Times of the replica are only
	// compared with each other, because its clock may differ from the local clock.
	var at time.Time
	if answer.Policy.LastFailure != nil {
		at = answer.Policy.LastFailure.At
	}
	if !r.seen {
		r.seen, r.failed = true, at
	} else if answer.Policy.Stale && !at.Equal(r.failed) {
		return cli.Problem(errors.New(loadFailure(answer)))
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

// waited returns the time since the waiter started.
func (w *waiter) waited() time.Duration { return w.now().Sub(w.begin).Round(100 * time.Millisecond) }

// loadFailure returns the reason why a replica could not load the policy.
func loadFailure(r *live.Answer) string {
	return fmt.Sprintf("%s cannot load the policy and continues with %s:\n%s", r.Name(), r.Policy.Hash,
		r.Policy.LastFailure.Error)
}

// nudge makes kubelet update the mounted policy, unless this was done a moment ago or is forbidden.
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
		w.say("you may not patch pods in %s, so kubelet takes up to two minutes to update the policy: the Role in the "+
			"component plugin allows this", w.cluster.Namespace)
	case err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil:
		return fmt.Errorf("update the policy in %s: %w", pod, err)
	}
	return nil
}

// missing returns the error of a wait that was not successful. It lists the replicas that do not have the policy,
// with their last reports.
func (w *waiter) missing() error {
	lines := []string{fmt.Sprintf("the policy %s is applied, but %s later some replicas do not have it:", w.hash,
		w.waited())}
	for _, name := range slices.Sorted(maps.Keys(w.replicas)) {
		switch r := w.replicas[name]; {
		case r.has(w.hash):
		case r.answer == nil:
			lines = append(lines, name+" has not answered")
		case r.answer.Err != nil:
			lines = append(lines, fmt.Sprintf("%s does not answer: %v", name, r.answer.Err))
		case r.answer.Policy.Stale && r.answer.Policy.LastFailure != nil:
			lines = append(lines, loadFailure(r.answer))
		default:
			lines = append(lines, fmt.Sprintf("%s has had %s since %s", name, r.answer.Policy.Hash,
				r.answer.Policy.Since.UTC().Format(time.RFC3339)))
		}
	}
	if len(w.replicas) == 0 {
		lines = append(lines, "the replicas could not be listed in time")
	}
	return errors.New(strings.Join(lines, "\n"))
}
