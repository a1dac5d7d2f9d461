//go:build unix

package cmd

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyVerbosity has the signal sent to c by which a process is told to log more, or less again.
func notifyVerbosity(c chan<- os.Signal) { signal.Notify(c, syscall.SIGUSR1) }
