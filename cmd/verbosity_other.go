//go:build !unix

package cmd

import "os"

// notifyVerbosity does nothing, because this platform does not have the signal.
func notifyVerbosity(chan<- os.Signal) {}
