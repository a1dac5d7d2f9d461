package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// profile writes two profiles of evergate for each review: processor time and allocations.
func (r *rig) profile(ctx context.Context, w io.Writer, reviews []*review, dir string, d time.Duration) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, review := range reviews {
		if err := r.profileReview(ctx, w, review, dir, d); err != nil {
			return fmt.Errorf("%s: %w", review.name, err)
		}
	}
	return nil
}

func (r *rig) profileReview(ctx context.Context, w io.Writer, review *review, dir string, d time.Duration) error {
	s, err := r.evergate(ctx, "profiled", "example")
	if err != nil {
		return err
	}
	defer s.stop()
	c := newSender(review, s, r.client())
	if _, err := c.saturate(ctx, connections, time.Second); err != nil { // warm up
		return err
	}
	load, stop := context.WithCancel(ctx)
	loaded := make(chan error, 1)
	go func() {
		_, err := c.saturate(ctx, connections, d+time.Second)
		loaded <- err
	}()
	defer stop()
	name := filepath.Join(dir, strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(review.name)))
	if err := fetch(load, s, fmt.Sprintf("profile?seconds=%d", int(d.Seconds())), name+".cpu.pprof"); err != nil {
		return err
	}
	if err := <-loaded; err != nil {
		return err
	}
	if err := fetch(load, s, "allocs", name+".allocs.pprof"); err != nil {
		return err
	}
	fmt.Fprintf(w, "go tool pprof -top %s.cpu.pprof\ngo tool pprof -top -sample_index=alloc_space %[1]s.allocs.pprof\n",
		name)
	return nil
}

// fetch writes the response of the server's pprof port to a file.
func fetch(ctx context.Context, s *server, what, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.profiles+"/debug/pprof/"+what, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("profiles: %s", resp.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, resp.Body); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
