package calls

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/pki"
)

// With --client-ca-file, reviews are answered only for clients with an accepted certificate, which kube-apiserver has
// in a kubeconfig. Probes do not need a certificate.
func TestClientAuthentication(t *testing.T) {
	clients, err := pki.NewCA("client-ca")
	must(t, err)
	strangers, err := pki.NewCA("client-ca") // the same name, another key
	must(t, err)
	bundle := filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(bundle, clients.PEM, 0o600))
	c := newCluster(t, product(t), "--client-ca-file", bundle, "--client-name", "kube-apiserver")
	p := c.start()
	c.service.Set(p.Addr)

	const (
		failed       = "failed to call webhook: "
		unauthorized = failed + "the server has asked for the client to provide credentials" // its words for any 401
	)
	for _, test := range []struct {
		name string
		ca   *pki.CA // nil: no certificate
		user string
		want string // the API server's error; empty: the review is answered
	}{
		{"accepted", clients, "kube-apiserver", ""},
		{"no certificate", nil, "", unauthorized},
		{"signed by another CA", strangers, "kube-apiserver", unauthorized},
		{"another name", clients, "another-client", failed +
			`the client certificate "CN=another-client" does not have any of the names in --client-name`},
	} {
		t.Run(test.name, func(t *testing.T) {
			kubeconfig := ""
			if test.ca != nil {
				pair, err := test.ca.Client(test.user)
				must(t, err)
				kubeconfig = c.kubeconfig(t, pair)
			}
			apiServer, err := client.NewAuthenticated(c.service, c.ca.PEM, client.ClusterIP, timeout, kubeconfig)
			must(t, err)
			got := ""
			if err := mutate(t.Context(), apiServer); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("ended with %q, want %q", got, test.want)
			}
		})
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if status := c.get(t, p.Addr, path); status != http.StatusOK {
			t.Errorf("%s without a certificate: %d", path, status)
		}
	}
}

// kubeconfig writes a file with pair as the credentials for the webhook's Service.
func (c *cluster) kubeconfig(t *testing.T, pair pki.Pair) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.AuthInfos[c.service.DNSName()] = &clientcmdapi.AuthInfo{
		ClientCertificateData: pair.Cert, ClientKeyData: pair.Key,
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*config, file))
	return file
}

// get sends a request to the serving port like the kubelet, and also verifies the certificate.
func (c *cluster) get(t *testing.T, addr, path string) int {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.ca.PEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: c.service.DNSName()}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://%s%s", addr, path), nil)
	must(t, err)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	must(t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}
