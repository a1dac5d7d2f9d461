package cluster

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// TestTroubleEndsWithTheTest checks the effect of each failure from the API server's side, by connecting to the
// kubelet, and that each failure ends with its test.
func TestTroubleEndsWithTheTest(t *testing.T) {
	if testing.Short() {
		t.Skip("-short skips slow tests of the cluster itself")
	}
	c := Open(t)
	c.NeedRig(t, "makes trouble for a node")
	for name, trouble := range map[string]struct {
		make          func(testing.TB, string)
		dials, shakes bool // a TCP connection opens, the TLS handshake on it succeeds
	}{
		"cut":    {make: c.Cut},
		"frozen": {make: c.Freeze, dials: true},
		"off":    {make: c.Off},
	} {
		node := c.Nodes(t)[0]
		t.Run(name, func(t *testing.T) {
			trouble.make(t, node.Name)
			if dials, shakes := ask(t, node); dials != trouble.dials || shakes != trouble.shakes {
				t.Errorf("kubelet: connection %v, handshake %v; want %v, %v", dials, shakes, trouble.dials, trouble.shakes)
			}
		})
		if dials, shakes := ask(t, node); !dials || !shakes {
			t.Errorf("after %s: kubelet: connection %v, handshake %v; want both", name, dials, shakes)
		}
	}
}

// ask tries to connect to the kubelet of a node, for as long as a busy machine may need to respond.
func ask(t *testing.T, node Node) (dials, shakes bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(node.IP, "10250"))
	if err != nil {
		return false, false
	}
	defer conn.Close()
	// Only the presence of a response matters. The certificate is the cluster's own.
	return true, tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) == nil
}
