package calls

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/hostile"
	"github.com/evergate/evergate/e2e/internal/pki"
)

// perConnection is the maximum resident memory of a connection in docs/serve.md.
const perConnection = 125 << 10

// TestHostileHandshakes uses peers that make TLS keep much memory. The process has the maximum number of connections,
// and each stays within its limit.
func TestHostileHandshakes(t *testing.T) {
	notShort(t)
	for _, test := range []struct {
		name   string
		attack func(context.Context, *siege)
	}{
		{"certificates of 250 KiB", certificates(hostile.LongChain(250 << 10))},
		{"as many certificates as bytes allow", certificates(hostile.LongChain(15 << 10))},
		{"six certificates", certificates(hostile.LongChain(2 << 10))},
		{"a certificate that is costly to keep", certificates(hostile.CostlyCertificate(2000))},
		{"a certificate that is just not too costly", certificates(hostile.CostlyCertificate(300))},
		{"a message after the handshake", func(ctx context.Context, s *siege) {
			_, err := hostile.OpenUnfinished(ctx, s.server.Addr, crowd, 256<<10, 250<<10)
			must(s.T, err)
		}},
		{"a short message after the handshake", func(ctx context.Context, s *siege) {
			_, err := hostile.OpenUnfinished(ctx, s.server.Addr, crowd, 256<<10, 32<<10)
			must(s.T, err)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			// The memory of the process without them, including the pages of its binary and the cost of legitimate
			// clients.
			const idle = 48 << 20
			const bound = idle + maxConnections*perConnection
			if peak := besiegeAuthenticated(t, test.attack); peak > bound {
				t.Errorf("the process used %d MiB, its limit is %d MiB", peak>>20, bound>>20)
			}
		})
	}
}

// besiegeAuthenticated is like besiege, with legitimate clients that have client certificates.
func besiegeAuthenticated(t *testing.T, attack func(context.Context, *siege)) int64 {
	t.Helper()
	t.Setenv("GOMEMLIMIT", fmt.Sprint(memoryLimit))
	clients, err := pki.NewCA("client-ca")
	must(t, err)
	bundle := filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(bundle, clients.PEM, 0o600))
	c := newCluster(t, product(t), "--client-ca-file", bundle, "--max-connection-age=1ms")
	pair, err := clients.Client("kube-apiserver")
	must(t, err)
	config := clientcmdapi.NewConfig() // with the credentials for the webhook's Service
	config.AuthInfos[c.service.DNSName()] = &clientcmdapi.AuthInfo{
		ClientCertificateData: pair.Cert, ClientKeyData: pair.Key,
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*config, kubeconfig))
	apiServer, err := client.NewAuthenticated(c.service, c.ca.PEM, client.ClusterIP, timeout, kubeconfig)
	must(t, err)
	return c.besiege(t, apiServer, attack)
}

// certificates is an attack of peers that present a certificate and do not send anything.
func certificates(c tls.Certificate, err error) func(context.Context, *siege) {
	return func(ctx context.Context, s *siege) {
		must(s.T, err)
		_, err := hostile.OpenTLSWith(ctx, s.server.Addr, crowd, hostile.WithCertificate(c), say(""))
		must(s.T, err)
	}
}
