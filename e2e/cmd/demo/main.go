// Command demo replaces local replicas of this tree's evergate while clients call them, and shows the numbers of sent,
// answered and lost calls: make demo-drain.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/evergate/evergate/e2e/internal/process"
	"github.com/evergate/evergate/e2e/internal/rollover"
)

func main() {
	d := rollover.Demo{Options: rollover.Options{Lag: 500 * time.Millisecond}, Live: terminal()}
	root := flag.String("root", "..", "`directory` of the repository")
	drain := flag.Bool("drain", true, "drain replicas; false disables the drain")
	flag.IntVar(&d.Rollovers, "rollovers", 3, "`number` of rollovers")
	flag.IntVar(&d.Rate, "rate", 10, "`bursts` of 20 calls a second")
	flag.DurationVar(&d.Pause, "pause", 3*time.Second, "time before each rollover")
	flag.Parse()
	d.Args = rollover.Undrained()
	if *drain {
		d.Args = rollover.Drained()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, d, *root); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

func run(ctx context.Context, d rollover.Demo, root string) error {
	dir, err := os.MkdirTemp("", "evergate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	d.Binary = filepath.Join(dir, "evergate")
	if err := process.Build(ctx, root, d.Binary, nil); err != nil {
		return err
	}
	if _, err := d.Run(ctx, os.Stdout); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// terminal reports whether the output is a terminal.
func terminal() bool {
	info, err := os.Stdout.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
