package kit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/process"
)

// TestClientAuth runs a real API server that calls the Service with the files in docs/serve.md. The product requires
// the certificate that the component client-auth and client-certificate describe.
func TestClientAuth(t *testing.T) {
	t.Parallel()
	const overlay = "examples/overlays/bare-metal"
	ca, err := pki.NewCA("evergate")
	must(t, err)
	flags, name := demanded(t, read(t).render(t, overlay))
	c := start(t,
		"--admission-control-config-file="+documentedFiles(t, clientPair(t, ca, name)),
		// Without kube-proxy, a cluster IP does not work, unless it is an address of this machine.
		"--service-cluster-ip-range=127.96.0.0/16")
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, overlay))
	p := c.serveService(t, ca, flags)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{optIn: "enabled"}}}
	if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	await(t, "the webhooks are active", func(ctx context.Context) bool {
		pod, err := c.admin.CoreV1().Pods("team").Create(ctx, pod("p", "nginx:1"), dryRun)
		return err == nil && strings.HasPrefix(pod.Spec.Containers[0].Image, "mirror.corp.example/")
	})
	c.denied(t, createPod("team", pod("q", "quay.io/a/b:1"), dryRun), pods, "only-mirrors/images.from: ")
	if err := createService("team", dryRun)(t.Context(), c.admin); err != nil {
		t.Errorf("a Service: %v", err)
	}

	strangers, err := pki.NewCA("evergate") // the same name, another key
	must(t, err)
	for _, test := range []struct {
		name string
		pair *pki.Pair // nil: no certificate
		path string
		want int
	}{
		// authenticated, but the request is not a review
		{"the API server's own certificate", clientPair(t, ca, name), "/validate/pods", http.StatusBadRequest},
		{"no certificate", nil, "/validate/pods", http.StatusUnauthorized},
		{"a certificate of another CA", clientPair(t, strangers, name), "/validate/pods", http.StatusUnauthorized},
		{"a certificate of another name", clientPair(t, ca, "another-client"), "/validate/pods", http.StatusForbidden},
		{"a probe", nil, "/readyz", http.StatusOK},
		{"a probe", nil, "/livez", http.StatusOK},
	} {
		if got := ask(t, p.Addr, ca, test.pair, test.path); got != test.want {
			t.Errorf("%s requests %s: %d, want %d", test.name, test.path, got, test.want)
		}
	}
}

// demanded returns the flags of the Deployment about clients, and the name in the certificate for API servers.
func demanded(t *testing.T, manifests []byte) (flags []string, name string) {
	t.Helper()
	decoder := strict(t)
	for _, doc := range documents(t, manifests) {
		object, _, err := decoder.Decode(doc, nil, nil)
		must(t, err)
		switch o := object.(type) {
		case *appsv1.Deployment:
			for _, arg := range o.Spec.Template.Spec.Containers[0].Args {
				if strings.HasPrefix(arg, "--client-") {
					flags = append(flags, arg)
				}
			}
		case *certmanagerv1.Certificate:
			if o.Name == "evergate-kube-apiserver" {
				name = o.Spec.CommonName
			}
		}
	}
	if len(flags) == 0 || name == "" {
		t.Fatalf("the overlay requires %q from %q", flags, name)
	}
	return flags, name
}

func clientPair(t *testing.T, ca *pki.CA, name string) *pki.Pair {
	t.Helper()
	pair, err := ca.Client(name)
	must(t, err)
	return &pair
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// documentedFiles writes kube-apiserver's files from docs/serve.md, with this directory instead of the directory of a
// control plane node, and returns the path of the first file.
func documentedFiles(t *testing.T, pair *pki.Pair) string {
	t.Helper()
	dir := t.TempDir()
	page, err := os.ReadFile(filepath.Join(root, "docs/serve.md"))
	must(t, err)
	files := map[string]string{"evergate-client.crt": string(pair.Cert), "evergate-client.key": string(pair.Key)}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		switch text := regexp.MustCompile("/etc/kubernetes/(pki/)?").ReplaceAllString(block[1], dir+"/"); {
		case strings.Contains(text, "kind: AdmissionConfiguration\n"):
			files["admission.yaml"] = text
		case strings.Contains(text, "kind: Config\n"):
			files["webhooks.kubeconfig"] = text
		}
	}
	if len(files) != 4 {
		t.Fatalf("docs/serve.md shows other files: %d", len(files))
	}
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return filepath.Join(dir, "admission.yaml")
}

// serveService runs the product at the Service's cluster IP, with a certificate from ca, which the webhooks trust.
func (c *cluster) serveService(t *testing.T, ca *pki.CA, flags []string) *process.Process {
	t.Helper()
	service, err := c.admin.CoreV1().Services("evergate-system").Get(t.Context(), "evergate", metav1.GetOptions{})
	must(t, err)
	address := net.JoinHostPort(service.Spec.ClusterIP, "443")
	if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address); err != nil {
		t.Skipf("this user may not listen where the Service is: %v", err)
	} else {
		l.Close()
	}
	certificate := mount(t, ca)
	for i := range flags {
		flags[i] = strings.Replace(flags[i], "/etc/evergate/tls", certificate, 1)
	}
	p := startProduct(t, build(t), certificate, policyFile(t, servedPolicy), append(flags, "--listen", address)...)
	c.eachWebhook(t, func(config *admissionv1.WebhookClientConfig) { config.CABundle = ca.PEM })
	return p
}

// ask sends a request that is not a review, and returns the status of the response.
func ask(t *testing.T, address string, ca *pki.CA, pair *pki.Pair, path string) int {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "evergate.evergate-system.svc"}
	config.RootCAs.AppendCertsFromPEM(ca.PEM)
	method := http.MethodGet
	if strings.HasPrefix(path, "/validate/") {
		method = http.MethodPost
	}
	if pair != nil {
		certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
		must(t, err)
		config.Certificates = []tls.Certificate{certificate}
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, strings.NewReader("{}"))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	must(t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}
