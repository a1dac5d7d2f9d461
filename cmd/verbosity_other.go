//go:build !unix

package cmd

import "os"

// notifyVerbosity does nothing where there is no such signal.
func notifyVerbosity(chan<- os.Signal) {}
