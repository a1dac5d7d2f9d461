//go:build unix

package cmd

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyVerbosity relays the signal that toggles the log level to c.
func notifyVerbosity(c chan<- os.Signal) { signal.Notify(c, syscall.SIGUSR1) }
