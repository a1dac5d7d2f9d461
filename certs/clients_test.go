package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/atomicdir"
	"github.com/evergate/evergate/internal/logtest"
)

// client creates the certificate of an API server, changed by the edits.
func client(t *testing.T, ca *tls.Certificate, edits ...edit) *tls.Certificate {
	t.Helper()
	return sign(t, ca, append([]edit{
		dnsNames(), commonName("apiserver"), usages(x509.ExtKeyUsageClientAuth),
	}, edits...)...)
}

// newClientAuth authenticates with the client CA in a volume.
func newClientAuth(t *testing.T, ca *tls.Certificate,
	names ...string) (*ClientAuth, *atomicdir.Dir, *logtest.Recorder) {
	t.Helper()
	volume := atomicdir.New(t)
	volume.Write(map[string]string{"ca.crt": string(certPEM(ca))})
	log, lines := logtest.New()
	a, err := NewClientAuth(volume.Path("ca.crt"), names, log, nil)
	must(t, err)
	must(t, a.Wait(t.Context()))
	return a, volume, lines
}

// authServer serves reviews to authenticated clients and probes to all clients.
func authServer(t *testing.T, auth *ClientAuth) (baseURL string, _ *Source) {
	t.Helper()
	volume := atomicdir.New(t)
	ca := newCA(t, "serving", nil)
	volume.Write(secret(t, sign(t, ca), ca))
	source := loadedSource(t, volume)
	mux := http.NewServeMux()
	mux.Handle("/review", auth.Require(ok))
	mux.Handle("/readyz", ok)
	return "https://" + serve(t, ServerConfig(source, tls.VersionTLS13, auth), mux).String(), source
}

// newClient returns an HTTP client with a certificate, or without one.
func newClient(t *testing.T, source *Source, cert *tls.Certificate) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: source.value.Current().roots, ServerName: serviceName}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	resp, err := c.Get(url)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
}

func TestRequire(t *testing.T) {
	ca, other := newCA(t, "clients", nil), newCA(t, "other", nil)
	intermediate := newCA(t, "intermediate", ca)
	chained := client(t, intermediate)
	chained.Certificate = append(chained.Certificate, intermediate.Certificate...)
	id, err := url.Parse("spiffe://cluster/apiserver")
	must(t, err)
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

	auth, _, _ := newClientAuth(t, ca, "apiserver", "apiserver.example", id.String())
	baseURL, source := authServer(t, auth)
	for name, test := range map[string]struct {
		cert *tls.Certificate
		want string
	}{
		"none": {nil, "401 a client certificate is required: kube-apiserver sends the one in the kubeconfig of its " +
			"--admission-control-config-file"},
		"common name":  {client(t, ca), "200 ok"},
		"DNS name":     {client(t, ca, commonName("x"), dnsNames("y", "apiserver.example")), "200 ok"},
		"URI":          {client(t, ca, commonName("x"), func(c *x509.Certificate) { c.URIs = []*url.URL{id} }), "200 ok"},
		"intermediate": {chained, "200 ok"},
		"another name": {client(t, ca, commonName("scheduler")),
			`403 the client certificate "CN=scheduler" does not have any of the ` +
				`names in --client-name`},
		"no name": {client(t, ca, commonName("")), `403 the client certificate "" does not have any of the names ` +
			`in --client-name`},
		"another CA": {client(t, other), `401 the client certificate "CN=apiserver" is not accepted: ` +
			`x509: certificate signed by unknown authority`},
		"for servers": {client(t, ca, usages(x509.ExtKeyUsageServerAuth)),
			`401 the client certificate "CN=apiserver" is not accepted: ` +
				`x509: certificate specifies an incompatible key usage`},
		"self-signed": {client(t, nil), `401 the client certificate "CN=apiserver" is not accepted: ` +
			`x509: certificate signed by unknown authority`},
		"self-probe's name": {client(t, nil, commonName("evergate self-probe")),
			`401 the client certificate "CN=evergate self-probe" ` +
				`is not accepted: x509: certificate signed by unknown authority`},
		"expired": {client(t, ca, dates(old, old.Add(day))), `401 the client certificate "CN=apiserver" is not accepted: ` +
			`x509: certificate has expired or is not yet valid`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, source, test.cert)
			for range 2 { // the second request may use the cache
				got := get(t, c, baseURL+"/review")
				got, _, _ = strings.Cut(got, " or is not yet valid: current time")
				want, _, _ := strings.Cut(test.want, " or is not yet valid")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
			if got := get(t, c, baseURL+"/readyz"); got != "200 ok" {
				t.Errorf("a probe: %s", got)
			}
		})
	}
	t.Run("self-probe", func(t *testing.T) {
		transport := &http.Transport{TLSClientConfig: source.ProbeConfig(auth)}
		defer transport.CloseIdleConnections()
		if got := get(t, &http.Client{Transport: transport}, baseURL+"/review"); got != "200 ok" {
			t.Error(got)
		}
	})
	t.Run("plain HTTP", func(t *testing.T) {
		answer := httptest.NewRecorder()
		auth.Require(ok).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/review", nil))
		if answer.Code != http.StatusUnauthorized {
			t.Errorf("got %d", answer.Code)
		}
	})
}

func TestRequireAnyName(t *testing.T) {
	ca := newCA(t, "clients", nil)
	auth, _, _ := newClientAuth(t, ca)
	baseURL, source := authServer(t, auth)
	if got := get(t, newClient(t, source, client(t, ca, commonName("any name"))), baseURL+"/review"); got != "200 ok" {
		t.Error(got)
	}
}

// A replaced CA also applies to connected and cached clients.
func TestClientCARotated(t *testing.T) {
	before, after := newCA(t, "before", nil), newCA(t, "after", nil)
	auth, volume, _ := newClientAuth(t, before)
	baseURL, source := authServer(t, auth)
	old, renewed := newClient(t, source, client(t, before)), newClient(t, source, client(t, after))
	expect := func(c *http.Client, want string) {
		t.Helper()
		if got := get(t, c, baseURL+"/review"); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	rotate := func(cas ...*tls.Certificate) {
		t.Helper()
		bundle := ""
		for _, ca := range cas {
			bundle += string(certPEM(ca))
		}
		volume.Write(map[string]string{"ca.crt": bundle})
		must(t, auth.value.Load())
	}
	expect(old, "200")
	expect(renewed, "401")
	rotate(before, after)
	expect(old, "200")
	expect(renewed, "200")
	rotate(after)
	expect(old, "401")
	expect(renewed, "200")
}

func TestClientCAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		ca := newCA(t, "clients", nil)
		log, lines := logtest.New()
		var m metrics
		auth, err := NewClientAuth(volume.Path("ca.crt"), nil, log, &m)
		must(t, err)
		state := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{client(t, ca).Leaf}}
		status, why := auth.check(state, time.Now())
		if status != 401 || why != "no client certificate is accepted: there is no client CA yet" {
			t.Errorf("before: %d %s", status, why)
		}
		go func() {
			time.Sleep(2*time.Second + time.Second/2) // fake time
			volume.Write(map[string]string{"ca.crt": string(certPEM(ca))})
		}()
		must(t, auth.Wait(t.Context()))
		good := `level=INFO msg="client CA loaded" file=SECRET/ca.crt certificates=1 not_after=` + stamp(ca.Leaf.NotAfter)
		expectLog(t, lines, volume, `level=WARN msg="waiting for a client CA" error="missing: SECRET/ca.crt"`, good)

		go auth.Run(t.Context(), interval)
		volume.Write(map[string]string{"ca.crt": ""})
		pass(time.Hour)
		expectLog(t, lines, volume, `level=ERROR msg="client CA failed to load: the last good one stays active" `+
			`error="SECRET/ca.crt: there is no PEM certificate in it"`)
		volume.Write(map[string]string{"ca.crt": string(certPEM(ca))})
		pass(time.Minute)
		expectLog(t, lines, volume, good)

		m.mu.Lock()
		defer m.mu.Unlock()
		if m.loaded[ClientCA] != 2 || m.failed[ClientCA] != 2 || !m.notAfter.Equal(ca.Leaf.NotAfter) {
			t.Errorf("observer: loaded %v, failed %v, not after %v", m.loaded, m.failed, m.notAfter)
		}
	})
}

// The CA that expires last determines how long clients can be accepted.
func TestTrustLasts(t *testing.T) {
	now := time.Now()
	short, long := newCA(t, "a", nil, dates(now, now.Add(day))).Leaf, newCA(t, "b", nil, dates(now, now.Add(2*day))).Leaf
	for _, cas := range [][]*x509.Certificate{{short, long}, {long, short}} {
		if got := newTrust(cas).notAfter; !got.Equal(long.NotAfter) {
			t.Errorf("until %s, want %s", got, long.NotAfter)
		}
	}
}

// Verified clients are removed from the cache when their certificate or its CA expires, and their number is limited.
func TestTrustRemembers(t *testing.T) {
	now := time.Now()
	from := now.Add(-day)
	var tr *trust
	for _, days := range []struct{ ca, leaf time.Duration }{{3650, 1}, {1, 90}} {
		ca := newCA(t, "clients", nil, dates(from, now.Add(days.ca*day)))
		chain := []*x509.Certificate{client(t, ca, dates(from, now.Add(days.leaf*day))).Leaf}
		tr = newTrust([]*x509.Certificate{ca.Leaf})
		must(t, tr.verify(chain, now))
		tr.roots = x509.NewCertPool() // from here on, only the cache accepts clients
		if err := tr.verify(chain, now.Add(day-time.Minute)); err != nil {
			t.Errorf("%+v: it must be remembered: %v", days, err)
		}
		if err := tr.verify(chain, now.Add(day+time.Minute)); err == nil {
			t.Errorf("%+v: a certificate of the chain has expired", days)
		}
	}
	for range 2 * maxVerified {
		tr.remember(&x509.Certificate{}, nil)
		if len(tr.verified) > maxVerified {
			t.Fatalf("%d certificates are remembered", len(tr.verified))
		}
	}
}

// Clients can fail authentication any number of times, and the log does not grow with it.
func TestRejectionsAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		auth, volume, lines := newClientAuth(t, newCA(t, "clients", nil))
		lines.Take()
		reject := func(times int) {
			for range times {
				auth.Require(ok).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/validate/pods", nil))
			}
		}
		line := func(count int) string {
			return fmt.Sprintf(`level=WARN msg="client not authenticated" status=401 error="a client certificate is required: `+
				`kube-apiserver `+
				`sends the one in the kubeconfig of its --admission-control-config-file" remote=192.0.2.1:1234 `+
				`path=/validate/pods rejected=%d`, count)
		}
		reject(1000)
		expectLog(t, lines, volume, line(1))
		pass(time.Minute)
		reject(1)
		expectLog(t, lines, volume, line(1000))
	})
}
