package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/atomicdir"
)

func TestLoadFailures(t *testing.T) {
	ca, other := newCA(t, "ca", nil), newCA(t, "other", nil)
	intermediate := newCA(t, "intermediate", ca)
	good := sign(t, ca)
	from, to := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC)
	future := time.Date(2199, 1, 2, 3, 4, 5, 0, time.UTC)

	for name, test := range map[string]struct {
		cert   *tls.Certificate
		change map[string]string // of the Secret's keys; empty: removed
		want   string            // empty: accepted
	}{
		"good":  {},
		"no CA": {change: map[string]string{"ca.crt": ""}},
		"nothing": {change: map[string]string{"tls.crt": "", "tls.key": "", "ca.crt": ""},
			want: "missing: SECRET/tls.crt, SECRET/tls.key"},
		"no key":         {change: map[string]string{"tls.key": ""}, want: "missing: SECRET/tls.key"},
		"no certificate": {change: map[string]string{"tls.crt": ""}, want: "missing: SECRET/tls.crt"},
		"another's key": {change: map[string]string{"tls.key": keyText(t, ca)},
			want: "SECRET/tls.crt and SECRET/tls.key are not a key pair: tls: private key does not match public key"},
		"not PEM": {change: map[string]string{"tls.crt": "x"},
			want: "SECRET/tls.crt and SECRET/tls.key are not a key pair: tls: failed to find any PEM data in certificate input"},
		"blank CA": {change: map[string]string{"ca.crt": "\n"}},
		"CA not PEM": {change: map[string]string{"ca.crt": "x"},
			want: "SECRET/ca.crt: there is no PEM certificate in it"},
		"CA cut short": {change: map[string]string{"ca.crt": string(certPEM(ca)) + string(certPEM(other))[:200]},
			want: "SECRET/ca.crt: it contains the start of 2 PEM certificates, and only 1 are complete"},
		"two CAs": {change: map[string]string{"ca.crt": string(certPEM(other)) + string(certPEM(ca))}},
		"another CA": {change: map[string]string{"ca.crt": string(certPEM(other))},
			want: "the certificate does not chain to its CA: x509: certificate signed by unknown authority"},
		"expired": {cert: sign(t, ca, dates(from, to)), want: "the certificate expired at 2021-01-02T03:04:05Z"},
		"not valid yet": {cert: sign(t, ca, dates(future, future.Add(day))),
			want: "the certificate is not valid before 2199-01-02T03:04:05Z"},
		"another name": {cert: sign(t, ca, dnsNames("a.svc", "b.svc")),
			want: "the certificate does not cover evergate.evergate.svc, the server name of clients: it covers a.svc, b.svc"},
		"a common name": {cert: sign(t, ca, dnsNames(), commonName(serviceName)),
			want: "the certificate does not cover evergate.evergate.svc, the server name of clients: it covers no name at " +
				"all"},
		"a wildcard": {cert: sign(t, ca, dnsNames("*.evergate.svc"))},
		"for clients": {cert: sign(t, ca, usages(x509.ExtKeyUsageClientAuth)),
			want: "the certificate is not for servers: its extended key usages lack server authentication"},
		"for an unknown usage": {cert: sign(t, ca, usages(), func(c *x509.Certificate) {
			c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}}
		}), want: "the certificate is not for servers: its extended key usages lack server authentication"},
		"for any usage": {cert: sign(t, ca, usages(x509.ExtKeyUsageAny))},
		"no usages":     {cert: sign(t, ca, usages())},
		"no intermediate": {cert: sign(t, intermediate),
			want: "the certificate does not chain to its CA: x509: certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			volume := atomicdir.New(t)
			cert := good
			if test.cert != nil {
				cert = test.cert
			}
			files := secret(t, cert, ca)
			maps.Copy(files, test.change)
			maps.DeleteFunc(files, func(_, data string) bool { return data == "" })
			volume.Write(files)
			expectLoad(t, volume, test.want)
		})
	}
	t.Run("intermediate", func(t *testing.T) {
		volume := atomicdir.New(t)
		cert := sign(t, intermediate)
		files := secret(t, cert, ca)
		files["tls.crt"] += string(certPEM(intermediate))
		volume.Write(files)
		expectLoad(t, volume, "")
	})
}

func expectLoad(t *testing.T, volume *atomicdir.Dir, want string) {
	t.Helper()
	source, _ := newVolumeSource(t, volume, nil)
	got := ""
	if err := source.value.Load(); err != nil {
		got = strings.ReplaceAll(err.Error(), volume.Path(), "SECRET")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if served, err := source.GetCertificate(nil); want == "" && (err != nil || served.Leaf == nil) {
		t.Errorf("not served: %v", err)
	}
}

func loadedLine(msg string, cert *tls.Certificate) string {
	return fmt.Sprintf("level=INFO msg=%q not_after=%s names=[%s] issuer=%q serial=%x key=ECDSA",
		msg, stamp(cert.Leaf.NotAfter), serviceName, cert.Leaf.Issuer, cert.Leaf.SerialNumber)
}

// interval is the time between two polls in tests. Polling is real work in fake time, and some tests cover hours.
const interval = 10 * time.Second

// run waits for the certificate and then follows the files, in the bubble of the test.
func run(t *testing.T, s *Source) {
	t.Helper()
	must(t, s.Wait(t.Context()))
	go s.Run(t.Context(), interval)
	synctest.Wait()
}

func pass(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

func serial(t *testing.T, s *Source) string {
	t.Helper()
	c, err := s.GetCertificate(nil)
	must(t, err)
	return c.Leaf.SerialNumber.String()
}

// This is the life of one Secret.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		ca := newCA(t, "ca", nil)
		first, second := sign(t, ca), sign(t, ca, dates(time.Now(), time.Now().Add(180*day)))
		volume.Write(secret(t, first, ca))
		var m metrics
		s, lines := newVolumeSource(t, volume, &m)
		run(t, s)
		expectLog(t, lines, volume, loadedLine("serving certificate loaded", first))
		pass(time.Hour)
		expectLog(t, lines, volume)

		// A certificate with a different key fails to load. This is reported once, although it stays.
		mixed := secret(t, second, ca)
		mixed["tls.key"] = keyText(t, first)
		volume.Write(mixed)
		pass(time.Hour)
		expectLog(t, lines, volume, `level=ERROR msg="serving certificate failed to load: the last good one stays active" `+
			`error="SECRET/tls.crt and SECRET/tls.key are not a key pair: tls: private key does not match public key" `+
			`not_after=`+
			stamp(first.Leaf.NotAfter))
		if serial(t, s) != first.Leaf.SerialNumber.String() || s.Err() != nil {
			t.Error("the last good certificate must stay active")
		}

		volume.Write(secret(t, first, ca))
		pass(time.Minute)
		expectLog(t, lines, volume, loadedLine("the files contain the active serving certificate", first))

		volume.Write(secret(t, second, ca))
		pass(time.Minute)
		expectLog(t, lines, volume, loadedLine("serving certificate renewed", second))
		if serial(t, s) != second.Leaf.SerialNumber.String() ||
			!s.value.Current().cert.Leaf.NotAfter.Equal(second.Leaf.NotAfter) {
			t.Error("the renewed certificate must be served")
		}

		volume.Write(nil)
		pass(time.Minute)
		expectLog(t, lines, volume, `level=ERROR msg="serving certificate failed to load: the last good one stays active" `+
			`error="missing: SECRET/tls.crt, SECRET/tls.key" not_after=`+stamp(second.Leaf.NotAfter))

		m.mu.Lock()
		defer m.mu.Unlock()
		if m.loaded[Serving] != 3 || m.failed[Serving] != 2 || !m.notAfter.Equal(second.Leaf.NotAfter) {
			t.Errorf("observer: loaded %v, failed %v, not after %v", m.loaded, m.failed, m.notAfter)
		}
	})
}

// Two files that are written one after the other do not match for a moment, which is not logged.
func TestHalfWrittenPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		ca := newCA(t, "ca", nil)
		first, second := sign(t, ca), sign(t, ca)
		volume.Write(secret(t, first, ca))
		s, lines := newVolumeSource(t, volume, nil)
		run(t, s)
		lines.Take()
		half := secret(t, second, ca)
		half["tls.key"] = keyText(t, first)
		volume.Write(half)
		pass(interval + time.Second/2) // the last poll was half a second ago
		volume.Write(secret(t, second, ca))
		pass(time.Minute)
		expectLog(t, lines, volume, loadedLine("serving certificate renewed", second))
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		ca := newCA(t, "ca", nil)
		volume.Write(secret(t, sign(t, ca, dates(time.Now(), time.Now().Add(time.Hour))), ca))
		s, _ := newVolumeSource(t, volume, nil)
		run(t, s)
		until := s.value.Current().cert.Leaf.NotAfter
		pass(time.Until(until))
		if err := s.Err(); err != nil {
			t.Errorf("at its last second: %v", err)
		}
		pass(time.Second)
		if err := s.Err(); err == nil || err.Error() != "the serving certificate expired at "+stamp(until) {
			t.Errorf("got %v", err)
		}
		if serial(t, s) == "" {
			t.Error("it must still be served, because there is no better certificate")
		}
		volume.Write(secret(t, sign(t, ca), ca))
		pass(time.Minute)
		if err := s.Err(); err != nil {
			t.Errorf("renewed: %v", err)
		}
	})
}

// An expired CA is reported once, and not at every poll.
func TestExpiredCA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		until := time.Now().Add(time.Hour)
		ca := newCA(t, "ca", nil, dates(time.Now(), until))
		first, second := sign(t, ca), sign(t, ca)
		volume.Write(secret(t, first, ca))
		s, lines := newVolumeSource(t, volume, nil)
		run(t, s)
		lines.Take()
		pass(2 * time.Hour)
		volume.Write(secret(t, second, ca))
		pass(time.Hour)
		expectLog(t, lines, volume, `level=ERROR msg="serving certificate failed to load: the last good one stays active" `+
			`error="the certificate does not chain to its CA: CN=ca expired at `+stamp(until)+`" not_after=`+
			stamp(first.Leaf.NotAfter))
	})
}

// The issuer's clock is ahead. The certificate is loaded when it becomes valid, although the files do not change.
func TestNotValidYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		ca := newCA(t, "ca", nil)
		first, start := sign(t, ca), time.Now().Add(time.Hour)
		second := sign(t, ca, dates(start, start.Add(day)))
		volume.Write(secret(t, first, ca))
		s, lines := newVolumeSource(t, volume, nil)
		run(t, s)
		lines.Take()
		volume.Write(secret(t, second, ca))
		pass(30 * time.Minute)
		expectLog(t, lines, volume, `level=ERROR msg="serving certificate failed to load: the last good one stays active" `+
			`error="the certificate is not valid before `+stamp(start)+`" not_after=`+stamp(first.Leaf.NotAfter))
		pass(31 * time.Minute)
		expectLog(t, lines, volume, loadedLine("serving certificate renewed", second))
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		ca := newCA(t, "ca", nil)
		cert := sign(t, ca)
		s, lines := newVolumeSource(t, volume, nil)
		if s.Err() == nil || s.Err().Error() != "there is no serving certificate yet" || s.value.Current() != nil {
			t.Errorf("before: %v", s.Err())
		}
		go func() {
			time.Sleep(20*time.Second + time.Second/2) // fake time
			half := secret(t, cert, ca)
			delete(half, "tls.key")
			volume.Write(half)
			time.Sleep(20 * time.Second)
			volume.Write(secret(t, cert, ca))
		}()
		start := time.Now()
		must(t, s.Wait(t.Context()))
		if got := time.Since(start); got != 41*time.Second {
			t.Errorf("waited %v", got)
		}
		expectLog(t, lines, volume,
			`level=WARN msg="waiting for a serving certificate" error="missing: SECRET/tls.crt, SECRET/tls.key"`,
			`level=WARN msg="waiting for a serving certificate" error="missing: SECRET/tls.key"`,
			loadedLine("serving certificate loaded", cert))
	})
}

func TestWaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		s, _ := newVolumeSource(t, volume, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := s.Wait(ctx)
		if err == nil {
			t.Fatal("no error")
		}
		want := "there is no serving certificate: missing: SECRET/tls.crt, SECRET/tls.key"
		if diff := cmp.Diff(want, strings.ReplaceAll(err.Error(), volume.Path(), "SECRET")); diff != "" {
			t.Error(diff)
		}
		if _, err := s.GetCertificate(nil); err == nil {
			t.Error("no certificate must be served")
		}
	})
}
