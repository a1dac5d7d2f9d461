package client

import (
	"math/rand/v2"
	"sync/atomic"
)

// Service is a Kubernetes Service: a name, and endpoints that change.
type Service struct {
	Name, Namespace string
	endpoints       atomic.Pointer[[]string]
}

// NewService returns a Service with the endpoints host:port.
func NewService(name, namespace string, endpoints ...string) *Service {
	s := &Service{Name: name, Namespace: namespace}
	s.Set(endpoints...)
	return s
}

// DNSName returns the name that the API server sends and verifies.
func (s *Service) DNSName() string { return s.Name + "." + s.Namespace + ".svc" }

// Set replaces the endpoints. It does not affect existing connections, and neither does kube-proxy.
func (s *Service) Set(endpoints ...string) { s.endpoints.Store(&endpoints) }

// Pick chooses an endpoint at random, as kube-proxy does for each new connection.
func (s *Service) Pick() string {
	all := *s.endpoints.Load()
	if len(all) == 0 {
		return "127.0.0.1:1" // no process listens there, so connecting fails, as for a Service without endpoints
	}
	return all[rand.IntN(len(all))]
}
