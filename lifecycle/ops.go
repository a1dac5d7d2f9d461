package lifecycle

import (
	"bytes"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/evergate/evergate/internal/conns"
)

const (
	// maxOpsConnections is as many as the serving port has by default. Few are in use at one time. But in a flood a
	// connection lives only until that many others have been accepted, and kubelet's probe must be read by then: with a
	// bound of 64 and 3,400 new connections a second that was 19 ms, and hardly a probe was answered.
	maxOpsConnections = DefaultMaxConnections

	// maxOpsHeaderBytes bounds all headers of a request to the ops port, and what the kernel holds of requests:
	// Prometheus sends 500 bytes. net/http allows 4 KiB more.
	maxOpsHeaderBytes = 1 << 10

	// maxPages bounds how many pages are being sent at one time: enough for a few scrapers and an operator or two. A
	// page of metrics has some 100 KiB.
	maxPages = 16
)

// newOpsServer returns the server of the ops port. Its connections are bounded like those of the serving port. isProbe
// reports whether a request is a health probe, which is answered at once; nil: none is.
func newOpsServer(h http.Handler, isProbe func(*http.Request) bool, log *slog.Logger) *http.Server {
	pages := newPages(h)
	s := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbe != nil && isProbe(r) {
			h.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	}), &conns.Set{Max: maxOpsConnections}, log)
	s.MaxHeaderBytes = maxOpsHeaderBytes
	return s
}

// pages serves pages that are costly to make and to keep. It makes one at a time, and keeps no more than maxPages of
// them for slow readers: one more cuts off the reader that has taken longest.
type pages struct {
	next   http.Handler
	making chan struct{} // holds one while a page is made

	mu   sync.Mutex
	sent []*http.ResponseController // of pages that are being sent, the longest first
}

func newPages(next http.Handler) *pages { return &pages{next: next, making: make(chan struct{}, 1)} }

// ServeHTTP implements http.Handler.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.making <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	made := p.make(w, r)
	reader := http.NewResponseController(w)
	p.begin(reader)
	defer p.end(reader)
	w.WriteHeader(made.status)
	_, _ = w.Write(made.body.Bytes()) // it fails when the reader has gone
	_ = reader.Flush()
}

func (p *pages) make(w http.ResponseWriter, r *http.Request) *page {
	defer func() { <-p.making }()
	made := &page{header: w.Header(), status: http.StatusOK}
	p.next.ServeHTTP(made, r)
	return made
}

// begin adds a reader. If there are too many, it cuts off the one that has taken longest.
func (p *pages) begin(reader *http.ResponseController) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, reader)
	if len(p.sent) > maxPages {
		_ = p.sent[0].SetWriteDeadline(time.Now()) // an error says that the connection has gone
		p.sent = append(p.sent[:0], p.sent[1:]...)
	}
}

func (p *pages) end(reader *http.ResponseController) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.sent {
		if r == reader {
			p.sent = append(p.sent[:i], p.sent[i+1:]...)
			return
		}
	}
}

// page is a ResponseWriter that keeps what is written.
type page struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (p *page) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *page) WriteHeader(status int) { p.status = status }

// Write implements http.ResponseWriter.
func (p *page) Write(b []byte) (int, error) { return p.body.Write(b) }
