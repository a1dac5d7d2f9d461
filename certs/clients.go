package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/evergate/evergate/internal/reload"
	"github.com/evergate/evergate/internal/text"
)

// ClientAuth authenticates clients by their certificates. It authenticates each request and not each connection,
// because probes do not need a certificate, and because a rotated CA then applies from the next request, also on open
// connections.
//
// ClientAuth also trusts the client certificate of the process's own self-probe. The process creates this certificate
// itself and never writes it anywhere.
//
// Call Wait first and then Run, from one goroutine at a time. All other methods are safe for concurrent use.
type ClientAuth struct {
	caFile   string
	names    []string
	log      *slog.Logger
	observer Observer
	value    reload.Value[trust]
	probe    tls.Certificate
	born     time.Time // on the monotonic clock

	rejections atomic.Int64 // not logged yet
	quiet      atomic.Int64 // nanoseconds since born until which rejections are not logged
}

// NewClientAuth returns a ClientAuth that accepts clients whose certificate is signed by a CA in caFile, a PEM bundle,
// and has one of names as its common name, a DNS name or a URI. If names is empty, every certificate that these CAs
// have signed is accepted. NewClientAuth does not read caFile; Wait does. The observer may be nil.
func NewClientAuth(caFile string, names []string, log *slog.Logger, observer Observer) (*ClientAuth, error) {
	a := &ClientAuth{caFile: caFile, names: slices.Clone(names), log: log, observer: orNop(observer), born: time.Now()}
	a.value = reload.Value[trust]{
		Read:  func() ([]reload.File, error) { return reload.ReadFiles(caFile) },
		Build: a.build, Loaded: a.loaded, Failed: a.loadFailed,
	}
	probe, err := issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "evergate self-probe"},
		NotBefore:   time.Unix(0, 0), // the certificate is compared and not verified, so its dates do not matter
		NotAfter:    time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, nil)
	if err != nil {
		return nil, err
	}
	a.probe = *probe
	return a, nil
}

// Wait waits until a valid CA bundle is loaded. If ctx ends first, the error contains the reason.
func (a *ClientAuth) Wait(ctx context.Context) error {
	if err := a.value.Wait(ctx); err != nil {
		return fmt.Errorf("there is no client CA: %w", err)
	}
	return nil
}

// Run reads the file again at each interval and loads changes, until ctx ends.
func (a *ClientAuth) Run(ctx context.Context, interval time.Duration) { a.value.Run(ctx, interval) }

// Require returns middleware that passes only authenticated clients to next. It responds 401 to clients without a
// certificate that a client CA has signed, and 403 to clients whose certificate does not have an accepted name.
func (a *ClientAuth) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, why := a.check(r.TLS, time.Now()); status != http.StatusOK {
			a.complain(r, status, why)
			http.Error(w, why, status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// maxReason is the maximum number of bytes of an error of crypto/x509, which may contain names of the client's
// certificates. The fixed part of each error is shorter.
const maxReason = 240

// check returns the status of the response to a client, and the reason if the status is not 200.
func (a *ClientAuth) check(state *tls.ConnectionState, now time.Time) (status int, why string) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return http.StatusUnauthorized, "a client certificate is required: kube-apiserver sends the one in the kubeconfig " +
			"of its --admission-control-config-file"
	}
	leaf := state.PeerCertificates[0]
	if leaf.Equal(a.probe.Leaf) {
		return http.StatusOK, ""
	}
	t := a.value.Current()
	if t == nil {
		return http.StatusUnauthorized, "no client certificate is accepted: there is no client CA yet"
	}
	name := text.Quote(leaf.Subject.String()) // checkChain bounds its length
	if err := t.verify(state.PeerCertificates, now); err != nil {
		return http.StatusUnauthorized, fmt.Sprintf("the client certificate %s is not accepted: %s", name,
			text.Truncate(err.Error(), maxReason))
	}
	if !a.accepts(leaf) {
		return http.StatusForbidden, fmt.Sprintf("the client certificate %s does not have any of the names in --client-name",
			name)
	}
	return http.StatusOK, ""
}

func (a *ClientAuth) accepts(leaf *x509.Certificate) bool {
	if len(a.names) == 0 || slices.Contains(a.names, leaf.Subject.CommonName) {
		return true
	}
	for _, name := range leaf.DNSNames {
		if slices.Contains(a.names, name) {
			return true
		}
	}
	for _, uri := range leaf.URIs {
		if slices.Contains(a.names, uri.String()) {
			return true
		}
	}
	return false
}

// complainInterval is the shortest time between two log lines about clients that were not authenticated. Any peer that
// reaches the port can cause any number of them, and an API server without its certificate calls all day.
const complainInterval = time.Minute

// complain logs why a client was not authenticated. The API server shows its users a fixed message for 401 and 403, so
// only this log line contains the reason.
func (a *ClientAuth) complain(r *http.Request, status int, why string) {
	a.rejections.Add(1)
	now, quiet := int64(time.Since(a.born)), a.quiet.Load()
	if now < quiet || !a.quiet.CompareAndSwap(quiet, now+int64(complainInterval)) {
		return
	}
	a.log.Warn("client not authenticated", "status", status, "error", why, "remote", r.RemoteAddr, "path", r.URL.Path,
		"rejected", a.rejections.Swap(0))
}

func (a *ClientAuth) build(files []reload.File) (*trust, error) {
	if len(files) == 0 {
		return nil, fmt.Errorf("missing: %s", a.caFile)
	}
	cas, err := Parse(files[0].Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.caFile, err)
	}
	return newTrust(cas), nil
}

func (a *ClientAuth) loaded(_, is *trust) {
	a.log.Info("client CA loaded", "file", a.caFile, "certificates", is.size, "not_after", stamp(is.notAfter))
	a.observer.CertificateLoaded(ClientCA, is.notAfter)
}

func (a *ClientAuth) loadFailed(err error) {
	if a.value.Current() == nil {
		a.log.Warn("waiting for a client CA", "error", err)
	} else {
		a.log.Error("client CA failed to load: the last good one stays active", "error", err)
	}
	a.observer.CertificateLoadFailed(ClientCA)
}
