//go:build unix

package cmd

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyVerbosity has the signal sent to c that makes a process log more, or less again.
func notifyVerbosity(c chan<- os.Signal) { signal.Notify(c, syscall.SIGUSR1) }
