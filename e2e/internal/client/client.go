// Package client calls a webhook with kube-apiserver's own code: the webhook client of k8s.io/apiserver, with its
// connection pool, its retries and its checks of the response. The package adds a Service to call, whose endpoints may
// change at any time, and counts of calls and failures.
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

// Routing is the way in which a kube-apiserver reaches the endpoints of a Service.
type Routing int

const (
	// ClusterIP is the default. The API server connects to one address, and kube-proxy chooses an endpoint for each new
	// connection. A pooled connection stays with its endpoint, whatever happens to the Service.
	ClusterIP Routing = iota
	// Endpoints is --enable-aggregator-routing=true since Kubernetes 1.37. Each call resolves the Service again, and
	// there is a separate pool for each endpoint.
	Endpoints
)

// clusterIP represents the address of the Service. It is never dialed.
const clusterIP = "192.0.2.1:443"

// Client is the part of a kube-apiserver that calls webhooks. It is safe for concurrent use.
type Client struct {
	service *Service
	manager webhook.ClientManager
	timeout time.Duration
	bundle  atomic.Pointer[[]byte]

	calls, roundTrips, dials atomic.Int64

	late atomic.Bool
}

// New returns a client of svc that verifies certificates with caBundle. Each call has the timeout, as with
// timeoutSeconds. The client is anonymous, like kube-apiserver without further configuration.
func New(svc *Service, caBundle []byte, routing Routing, timeout time.Duration) (*Client, error) {
	return NewAuthenticated(svc, caBundle, routing, timeout, "")
}

// NewAuthenticated is like New, with a kubeconfig file as in an --admission-control-config-file. The client uses the
// user in it whose name is the DNS name of the Service.
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

// SetCABundle changes the CA bundle, like a change of the caBundle in a webhook configuration.
func (c *Client) SetCABundle(pem []byte) { c.bundle.Store(&pem) }

// dial connects to an endpoint. If addr is the address of the Service, it chooses an endpoint like kube-proxy.
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

// LearnLate delays the end of new connections for their readers until the connection has been written to again. This
// simulates a connection whose end is still on its way while the next request is sent.
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

// Call sends a review to a path of the webhook and checks the response like the mutating or validating dispatcher of
// k8s.io/apiserver. An error is a failed call, to which failurePolicy applies. A denial is not an error.
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
