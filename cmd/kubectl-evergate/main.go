// Kubectl-evergate is a plugin of kubectl. It shows the state of Evergate in a cluster and changes its policy. It
// uses the kubeconfig and the permissions of its user, and does not install anything.
//
//	root.go                 flags that all commands share
//	status.go               the state of a cluster; status_text.go: its text
//	apply.go                check, plan, ask, replace; wait.go: wait until every replica reports the policy
//	history.go              history and rollback
//	plan.go  preflight.go  explain.go  images.go
//	internal/live           the cluster and its replicas; internal/revise: the policy and its revisions
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(runUntilSignal()) }

// runUntilSignal runs the command until the first signal cancels it. A second signal ends the process.
func runUntilSignal() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
