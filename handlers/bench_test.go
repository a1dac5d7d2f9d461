package handlers

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evergate/evergate/review/reviewtest"
)

// BenchmarkReview measures a whole review without network and TLS, by path and body.
func BenchmarkReview(b *testing.B) {
	f := newFixture(b, benchPolicy())
	f.Log = slog.New(slog.DiscardHandler)
	h := servingOf(f.Config)
	paths := map[string][]string{
		"pods":        {"/mutate/pods", "/validate/pods"},
		"ingresses":   {"/validate/ingresses"},
		"services":    {"/validate/services"},
		"deployments": {"/validate/workloads"},
	}
	for _, body := range reviewtest.Bodies() {
		for _, path := range paths[body.Resource] {
			b.Run(strings.TrimPrefix(path, "/")+"/"+body.Name, func(b *testing.B) { benchmark(b, h, path, body.Data) })
		}
	}
}

func benchmark(b *testing.B, h http.Handler, path string, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	body := bytes.NewReader(data)
	r := httptest.NewRequest(http.MethodPost, path+"?timeout=3s", nil)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(data))
	w := &discard{header: http.Header{}}
	for b.Loop() {
		body.Reset(data)
		r.Body = io.NopCloser(body)
		h.ServeHTTP(w, r)
		if w.status != 0 {
			b.Fatalf("answered %d", w.status)
		}
	}
}

// discard is a ResponseWriter that keeps only a status other than 200.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// benchPolicy returns a policy with 20 mirrors and 20 rules.
func benchPolicy() string {
	var b strings.Builder
	b.WriteString("mirrors:\n")
	for i, source := range []string{"docker.io", "quay.io", "ghcr.io", "registry.k8s.io", "gcr.io"} {
		fmt.Fprintf(&b, "- {name: m%d, sources: [%s], mirror: mirror.corp.example/%[2]s, mode: enforce}\n", i, source)
	}
	for i := range 15 {
		fmt.Fprintf(&b, "- {name: n%d, sources: [registry-%d.example], mirror: mirror.corp.example/%[1]d, mode: enforce}\n",
			i, i)
	}
	b.WriteString("pods:\n- {name: pods, mode: audit, images: {from: mirrors}}\n")
	b.WriteString("ingresses:\n")
	for i := range 10 {
		const rule = `{name: i%d, mode: audit, hosts: {allowed: ["**.example", "**.example.com"]}, tls: {required: true}}`
		fmt.Fprintf(&b, "- "+rule+"\n", i)
	}
	b.WriteString("services:\n")
	for i := range 9 {
		fmt.Fprintf(&b, "- {name: s%d, mode: audit, types: {allowed: [ClusterIP, LoadBalancer]}}\n", i)
	}
	return b.String()
}
