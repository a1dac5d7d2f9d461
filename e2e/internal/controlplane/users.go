package controlplane

import (
	"fmt"
	"net/http"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/evergate/evergate/e2e/internal/pki"
)

// User is a user with a client certificate for the API server.
type User struct {
	server string
	ca     *pki.CA
	pair   pki.Pair
}

// Admin returns a user with all permissions.
func (c *ControlPlane) Admin() *User {
	user, err := c.User("admin", "system:masters")
	if err != nil {
		panic(err) // creating a key of a fixed type fails only without entropy or memory
	}
	return user
}

// User returns a user with a name and groups, and with the permissions that RBAC grants them.
func (c *ControlPlane) User(name string, groups ...string) (*User, error) {
	pair, err := c.ca.Client(name, groups...)
	if err != nil {
		return nil, fmt.Errorf("certificate of user %s: %w", name, err)
	}
	return &User{c.URL, c.ca, pair}, nil
}

// Config returns a client configuration. Requests are not throttled, because no other client uses this cluster.
func (u *User) Config() *rest.Config {
	return &rest.Config{
		Host:            u.server,
		TLSClientConfig: rest.TLSClientConfig{CAData: u.ca.PEM, CertData: u.pair.Cert, KeyData: u.pair.Key},
		QPS:             -1,
	}
}

// HTTPClient returns a client for paths that are not part of the Kubernetes API.
func (u *User) HTTPClient() (*http.Client, error) { return rest.HTTPClientFor(u.Config()) }

// WriteKubeconfig writes a kubeconfig file for kubectl.
func (u *User) WriteKubeconfig(file string) error {
	const name = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: u.server, CertificateAuthorityData: u.ca.PEM}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: u.pair.Cert, ClientKeyData: u.pair.Key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
