package policystore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/evergate/evergate/internal/reload"
	"github.com/evergate/evergate/lifecycle/policystore"
)

func Example() {
	dir, err := os.MkdirTemp("", "policy")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	text := "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" +
		"services: [{name: no-node-ports, mode: warn, types: {denied: [NodePort]}}]\n"
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o644); err != nil {
		panic(err)
	}

	store, err := policystore.Open(dir, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		panic(err) // an InvalidError contains every mistake, with file, line and column
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go store.Run(ctx, reload.DefaultInterval) // loads changed files

	p := store.Current() // once for each review
	fmt.Println(p.Counts().Services, store.Status().Files)
	// Output: 1 [policy.yaml]
}
