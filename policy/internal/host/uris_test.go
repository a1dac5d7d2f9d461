package host

import (
	"net/url"
	"testing"
)

// net/url, which cert-manager uses, finds the same host in a URI.
func FuzzURIName(f *testing.F) {
	for _, s := range []string{"https://u:p@A.example:443/p?q#f", "spiffe://a/b", "https://[::1]:1", "urn:a", "a://b@c@d", `a:\\b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := URIName(s)
		u, err := url.Parse(s)
		if err != nil || got.IsEvery() {
			return
		}
		if ip, isIP := AddressName(u.Hostname()); !ip.IsEvery() && isIP && ip == got {
			return
		}
		if want := OneLabel(u.Hostname()); ok && got != want || !ok && u.Host != "" && u.Scheme != "spiffe" {
			t.Errorf("%q: got %s, %t, want %s", s, got, ok, want)
		}
	})
}
