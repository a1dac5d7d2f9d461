// Kubectl-evergate is a plugin of kubectl: it shows how Evergate is doing in a cluster, and changes its policy. It uses
// the kubeconfig and the rights of its user, and installs nothing.
//
//	root.go                 flags that all commands share
//	status.go  status_text.go
//	apply.go                check, plan, ask, replace; wait.go until every replica reports the policy
//	history.go              history and rollback
//	plan.go  preflight.go  explain.go
//	internal/live           the cluster and its replicas; internal/revise the policy and its revisions
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(runUntilSignal()) }

// runUntilSignal ends what the command does with the first signal. A second one ends the process.
func runUntilSignal() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
