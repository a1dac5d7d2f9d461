// Package live reads the state of a cluster that runs Evergate. It reads objects with the permissions of the user,
// and the state of the replicas with a port-forward.
//
//	live.go      what a kubeconfig reaches
//	replicas.go  the Pods that serve, and what each says of itself
//	forward.go   a connection into a Pod, through the API server and kubelet
//	collect.go   the objects that preflight looks at
//	dry_run.go   a Pod of a Deployment, created as a dry run
//	hello.go     objects that call the webhooks, created as dry runs
//	native.go    the native policies, and their renewal
package live

import (
	"fmt"
	"io"
	"net/url"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/offline/apiserver"
)

// Cluster is a cluster that runs Evergate.
type Cluster struct {
	Client     kubernetes.Interface
	Controller kubernetes.Interface // impersonates the account of the ReplicaSet controller
	Dynamic    dynamic.Interface
	Objects    *apiserver.Client // the same API server, read as a stream
	Namespace  string            // that Evergate runs in
	Dialer     Dialer
}

// The rate limits. The defaults of client-go are for controllers, but a command sends a few dozen requests within a
// second and ends.
const qps, burst = 50, 100

// New returns a cluster. Warnings from the API server are written to warnings.
func New(config *rest.Config, namespace string, warnings io.Writer) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = qps, burst
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	asController := rest.CopyConfig(config)
	asController.Impersonate = rest.ImpersonationConfig{UserName: controllerUser}
	controller, err := kubernetes.NewForConfig(asController)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	server := &url.URL{Scheme: host.Scheme, Host: host.Host, Path: host.Path}
	return &Cluster{
		Client: client, Controller: controller, Dynamic: untyped, Objects: apiserver.Over(server, transport),
		Namespace: namespace,
		Dialer:    &forwarder{config: config, pods: client.CoreV1().RESTClient(), namespace: namespace},
	}, nil
}
