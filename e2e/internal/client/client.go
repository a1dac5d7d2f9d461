// Package client calls a webhook as kube-apiserver does: with the webhook client of k8s.io/apiserver itself, its
// connection pool, its retries and its checks of the answer. Nothing of that is imitated here; what the package adds is
// a Service to call (its endpoints may change at any time) and books on what happened.
package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// Routing is how a kube-apiserver reaches the endpoints of a Service.
type Routing int

const (
	// ClusterIP is the default: the API server knows one address, and kube-proxy chooses an endpoint when a
	// connection is made. A pooled connection stays with its endpoint, whatever happens to the Service.
	ClusterIP Routing = iota
	// Endpoints is --enable-aggregator-routing=true since Kubernetes 1.37: each call resolves the Service anew, and
	// the pool is kept per endpoint.
	Endpoints
)

// clusterIP stands for the address of the Service; it is never dialled.
const clusterIP = "192.0.2.1:443"

// Client is one kube-apiserver, as far as it calls webhooks. It may be used by any number of goroutines.
type Client struct {
	service *Service
	manager webhook.ClientManager
	timeout time.Duration
	bundle  atomic.Pointer[[]byte]

	calls, roundTrips, dials atomic.Int64

	late atomic.Bool
}

// New makes a client of svc that verifies against caBundle and gives each call the timeout, as timeoutSeconds does. It
// calls anonymously, as kube-apiserver does unless it is configured otherwise.
func New(svc *Service, caBundle []byte, routing Routing, timeout time.Duration) (*Client, error) {
	return NewAuthenticated(svc, caBundle, routing, timeout, "")
}

// NewAuthenticated is New with the kubeconfig file that an --admission-control-config-file names: it calls as the user
// in it whose name is the DNS name of the Service.
func NewAuthenticated(svc *Service, caBundle []byte, routing Routing, timeout time.Duration,
	kubeconfig string) (*Client, error) {
	manager, err := webhook.NewClientManager([]schema.GroupVersion{admissionv1.SchemeGroupVersion},
		admissionv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	auth, err := webhook.NewDefaultAuthenticationInfoResolver(kubeconfig)
	if err != nil {
		return nil, err
	}
	c := &Client{service: svc, manager: manager, timeout: timeout}
	c.SetCABundle(caBundle)
	c.manager.SetAuthenticationInfoResolver(&webhook.AuthenticationInfoResolverDelegator{
		ClientConfigForFunc: auth.ClientConfigFor,
		ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
			cfg, err := auth.ClientConfigForService(name, namespace, port)
			if err != nil {
				return nil, err
			}
			cfg.Dial = c.dial
			cfg.Wrap(c.count)
			return cfg, nil
		},
	})
	c.manager.SetServiceResolver(resolver{svc, routing})
	return c, c.manager.Validate()
}

// SetCABundle is what happens when the caBundle of a webhook configuration changes.
func (c *Client) SetCABundle(pem []byte) { c.bundle.Store(&pem) }

// dial connects to an endpoint; for the address of the Service it chooses one, as kube-proxy does.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c.dials.Add(1)
	if addr == clusterIP {
		addr = c.service.Pick()
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil || !c.late.Load() {
		return conn, err
	}
	return newLateConn(conn), nil
}

// LearnLate has connections that are dialled from now on learn of their end only after they have been written to again,
// as when the news is still on its way while the next request is sent.
func (c *Client) LearnLate() { c.late.Store(true) }

func (c *Client) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.roundTrips.Add(1)
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type resolver struct {
	service *Service
	routing Routing
}

func (r resolver) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	host := clusterIP
	if r.routing == Endpoints {
		host = r.service.Pick()
	}
	return &url.URL{Scheme: "https", Host: host}, nil
}

// Call sends a review to a path of the webhook and checks the answer as the mutating or validating dispatcher of
// k8s.io/apiserver does. An error is a failed call, the case that failurePolicy is for; a denial is not an error.
func (c *Client) Call(ctx context.Context, path string, mutating bool,
	review *admissionv1.AdmissionReview) (*request.AdmissionResponse, error) {
	c.calls.Add(1)
	client, err := c.manager.HookClient(webhook.ClientConfig{
		Name:     "test.evergate.dev",
		CABundle: *c.bundle.Load(),
		Service:  &webhook.ClientConfigService{Name: c.service.Name, Namespace: c.service.Namespace, Path: path, Port: 443},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var response admissionv1.AdmissionReview
	if err := client.Post().Body(review).Timeout(c.timeout).Do(ctx).Into(&response); err != nil {
		return nil, fmt.Errorf("failed to call webhook: %w", err)
	}
	answer, err := request.VerifyAdmissionResponse(review.Request.UID, mutating, &response)
	if err != nil {
		return nil, fmt.Errorf("received invalid webhook response: %w", err)
	}
	return answer, nil
}
