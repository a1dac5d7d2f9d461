// Command controlplane runs a real API server for manual use, until it is interrupted: see package controlplane.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/evergate/evergate/e2e/internal/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	bin, err := controlplane.Find()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "evergate-controlplane-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, end := context.WithCancel(ctx)
	c, err := controlplane.Start(ctx, bin, dir)
	defer func() { // before their directory is removed
		end()
		c.Wait()
	}()
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := c.Admin().WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	fmt.Printf("API server ready until Ctrl-C:\n  export KUBECONFIG=%s PATH=%s:$PATH\n", kubeconfig, bin)
	<-ctx.Done()
	return nil
}
