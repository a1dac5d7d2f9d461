package pki

import "github.com/evergate/evergate/internal/atomicdir"

// Mount is a directory that is updated like a mounted Secret or ConfigMap.
type Mount struct{ Dir string }

// Write replaces the contents of the mount in one step.
func (m *Mount) Write(files map[string][]byte) error { return atomicdir.Write(m.Dir, files) }

// WritePair mounts a serving certificate with the keys of cert-manager's Secret.
func (m *Mount) WritePair(ca *CA, leaf Pair) error {
	return m.Write(map[string][]byte{"tls.crt": leaf.Cert, "tls.key": leaf.Key, "ca.crt": ca.PEM})
}
