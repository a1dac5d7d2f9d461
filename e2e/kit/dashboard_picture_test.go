package kit

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/process"
)

const picturedPolicy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
- {name: k8s, mode: enforce, sources: [registry.k8s.io], mirror: mirror.corp.example/k8s}
pods:
- {name: only-mirrors, mode: enforce, images: {from: mirrors}}
- {name: no-latest, mode: warn, images: {deniedTags: [latest]}}
ingresses:
- {name: team-hosts, mode: enforce, hosts: {allowed: ["*.apps.example"]}}
`

// TestDashboardPicture records the metrics of an API server and of two replicas, which are replaced under load. It
// writes them to the file EVERGATE_SCRAPES, for e2e/promtool/panels. It does not test anything, and is skipped without
// this variable.
func TestDashboardPicture(t *testing.T) {
	file := os.Getenv("EVERGATE_SCRAPES")
	if file == "" {
		t.Skip("this is a recording: run make record-pictures")
	}
	c := start(t)
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	s := c.newScene(t, file)
	s.add(t)
	s.add(t)
	for range 3 {
		go s.write(t.Context())
	}
	const second = time.Second
	for _, pause := range []time.Duration{25 * second, 35 * second, 30 * second} {
		s.record(t, pause)
		s.replace(t)
	}
	s.record(t, 10*second)
}

// scene is a number of replicas behind one address.
type scene struct {
	*cluster
	certificate, policy string
	out                 *json.Encoder

	mu       sync.Mutex
	replicas []*process.Process // that get new connections
	scraped  map[string]*process.Process
}

func (c *cluster) newScene(t *testing.T, file string) *scene {
	t.Helper()
	ca, err := pki.NewCA("evergate")
	must(t, err)
	out, err := os.Create(file)
	must(t, err)
	t.Cleanup(func() { out.Close() })
	s := &scene{
		cluster: c, certificate: mount(t, ca), policy: policyFile(t, picturedPolicy), out: json.NewEncoder(out),
		scraped: map[string]*process.Process{},
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go s.forward(l)
	c.eachWebhook(t, func(config *admissionv1.WebhookClientConfig) {
		target := "https://" + l.Addr().String() + *config.Service.Path
		*config = admissionv1.WebhookClientConfig{URL: &target, CABundle: ca.PEM}
	})
	return s
}

// forward connects each new connection to a replica, like kube-proxy.
func (s *scene) forward(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		address := s.replicas[rand.IntN(len(s.replicas))].Addr
		s.mu.Unlock()
		go func() {
			defer conn.Close()
			replica, err := new(net.Dialer).Dial("tcp", address)
			if err != nil {
				return
			}
			defer replica.Close()
			go func() {
				_, _ = io.Copy(replica, conn)
				_ = replica.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(conn, replica)
		}()
	}
}

func (s *scene) add(t *testing.T) {
	t.Helper()
	p := startProduct(t, build(t), s.certificate, s.policy, "--drain-delay=3s", "--drain-timeout=8s")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, p)
	s.scraped["evergate-"+strconv.Itoa(len(s.scraped))] = p
}

// replace starts a replica and terminates the oldest one.
func (s *scene) replace(t *testing.T) {
	t.Helper()
	s.add(t)
	s.mu.Lock()
	old := s.replicas[0]
	s.replicas = slices.Clone(s.replicas[1:])
	s.mu.Unlock()
	must(t, old.Terminate())
}

// write creates objects as dry runs until ctx ends. Some are denied.
func (s *scene) write(ctx context.Context) {
	host := func(host string) *networkingv1.Ingress {
		return &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"},
			Spec: networkingv1.IngressSpec{
				DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: "x", Port: networkingv1.ServiceBackendPort{Number: 80},
				}},
				Rules: []networkingv1.IngressRule{{Host: host}},
			},
		}
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	tick := time.NewTicker(50 * time.Millisecond) // 20 objects per second
	defer tick.Stop()
	for ; ctx.Err() == nil; <-tick.C {
		switch n := rand.IntN(100); {
		case n < 45:
			_ = createPod("team", pod("", "nginx:1.25"), dryRun)(ctx, s.admin)
		case n < 60:
			_ = createPod("team", pod("", "registry.k8s.io/pause:3.10"), dryRun)(ctx, s.admin)
		case n < 66:
			_ = createPod("team", pod("", "nginx:latest"), dryRun)(ctx, s.admin)
		case n < 72:
			_ = createPod("team", pod("", "quay.io/acme/shop:1"), dryRun)(ctx, s.admin)
		case n < 85:
			_, _ = s.admin.CoreV1().Services("team").Create(ctx, service, dryRun)
		case n < 95:
			_, _ = s.admin.NetworkingV1().Ingresses("team").Create(ctx, host("shop.apps.example"), dryRun)
		default:
			_, _ = s.admin.NetworkingV1().Ingresses("team").Create(ctx, host("shop.example.com"), dryRun)
		}
	}
}

// record scrapes all targets every second for a duration.
func (s *scene) record(t *testing.T, d time.Duration) {
	t.Helper()
	api, err := s.Admin().HTTPClient()
	must(t, err)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-tick.C {
		now := time.Now()
		s.scrape(t, now, api, s.URL+"/metrics", nil)
		for name, p := range s.scraped {
			s.scrape(t, now, http.DefaultClient, "http://"+p.Ops+"/metrics",
				map[string]string{"pod": name, "namespace": "evergate-system"})
		}
	}
}

func (s *scene) scrape(t *testing.T, at time.Time, client *http.Client, url string, labels map[string]string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	resp, err := client.Do(req)
	if err != nil {
		return // the replica has ended
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	var used strings.Builder // an API server has thousands of other series
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "evergate_") || strings.HasPrefix(line, "apiserver_admission_webhook_") {
			used.WriteString(line)
		}
	}
	must(t, s.out.Encode(map[string]any{"time": at.UnixMilli(), "labels": labels, "text": used.String()}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
