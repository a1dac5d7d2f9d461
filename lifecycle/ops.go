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
	// maxOpsConnections equals the default of the serving port. Only a few of these connections are in use at one time.
	// But in a flood, a connection lives only until that many newer ones have been accepted, and the kubelet's probe
	// must be read by then. With a limit of 64 and 3,400 new connections a second that was 19 ms, and almost no probe
	// was answered.
	maxOpsConnections = DefaultMaxConnections

	// maxOpsHeaderBytes limits the headers of a request to the ops port, and the unread requests that the kernel
	// buffers. Prometheus sends 500 bytes. net/http allows 4 KiB more.
	maxOpsHeaderBytes = 1 << 10

	// maxPages limits how many pages are sent at one time. It is enough for a few scrapers and one or two people. A
	// page of metrics takes about 100 KiB.
	maxPages = 16
)

// newOpsServer returns the server of the ops port. Its connections are limited like the connections of the serving
// port. isProbe reports whether a request is a health probe, which does not wait behind pages. If isProbe is nil, no
// request is a probe.
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

// pages serves pages that are costly to create and to keep. It creates one page at a time and keeps at most maxPages
// pages for slow readers. If there is one more, it cuts off the reader that has taken longest.
type pages struct {
	next   http.Handler
	making chan struct{} // contains one element while a page is created

	mu   sync.Mutex
	sent []*http.ResponseController // of pages that are being sent, the oldest first
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
	_, _ = w.Write(made.body.Bytes()) // it fails if the reader has disconnected
	_ = reader.Flush()
}

func (p *pages) make(w http.ResponseWriter, r *http.Request) *page {
	defer func() { <-p.making }()
	made := &page{header: w.Header(), status: http.StatusOK}
	p.next.ServeHTTP(made, r)
	return made
}

// begin adds a reader. If there are too many, it cuts off the reader that has taken longest.
func (p *pages) begin(reader *http.ResponseController) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, reader)
	if len(p.sent) > maxPages {
		_ = p.sent[0].SetWriteDeadline(time.Now()) // an error means that the connection is already closed
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

// page is a ResponseWriter that keeps the response in memory.
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
