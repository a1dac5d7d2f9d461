package client

import (
	"math/rand/v2"
	"sync/atomic"
)

// Service is a Kubernetes Service: a name, and endpoints that come and go.
type Service struct {
	Name, Namespace string
	endpoints       atomic.Pointer[[]string]
}

// NewService makes a Service with the endpoints host:port.
func NewService(name, namespace string, endpoints ...string) *Service {
	s := &Service{Name: name, Namespace: namespace}
	s.Set(endpoints...)
	return s
}

// DNSName is the name that the API server asks for and verifies.
func (s *Service) DNSName() string { return s.Name + "." + s.Namespace + ".svc" }

// Set replaces the endpoints. Connections that exist are not touched, as kube-proxy does not touch them.
func (s *Service) Set(endpoints ...string) { s.endpoints.Store(&endpoints) }

// Pick chooses an endpoint at random, as kube-proxy does for each new connection.
func (s *Service) Pick() string {
	all := *s.endpoints.Load()
	if len(all) == 0 {
		return "127.0.0.1:1" // nothing listens: refused, as a Service without endpoints refuses
	}
	return all[rand.IntN(len(all))]
}
