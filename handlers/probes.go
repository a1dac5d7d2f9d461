package handlers

import (
	"encoding/json"
	"net/http"
)

// probe responds 200 if check returns nil, and otherwise 503 with the error.
func probe(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	}
}

// policyPage responds with the status as JSON, indented for people.
func policyPage(status func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		_ = enc.Encode(status()) // it fails if the client has disconnected
	}
}

// IsProbe reports whether r requests the health of the process, which is answered in every phase.
func IsProbe(r *http.Request) bool { return r.URL.Path == "/livez" || r.URL.Path == "/readyz" }
