package kit

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/e2e/internal/crds"
)

// routeCRD is our own definition of the OpenShift Route.
const routeCRD = "testdata/route.openshift.io.yaml"

// hostKinds returns the CRDs of the kinds that contain host names, except cert-manager's, which installTypes applies,
// and except the OpenShift Route.
func hostKinds(t *testing.T) (streams [][]byte) {
	t.Helper()
	for _, source := range crds.HostKinds() {
		stream, err := source.Read(t.Context())
		must(t, err)
		streams = append(streams, stream)
	}
	return streams
}

// installHostKinds applies the CRDs of all kinds that contain host names.
func (c *cluster) installHostKinds(t *testing.T) {
	t.Helper()
	for _, stream := range hostKinds(t) {
		c.kubectl(t, string(stream), "apply", "--server-side", "-f", "-")
	}
	c.kubectl(t, "", "apply", "--server-side", "-f", routeCRD)
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
}

// TestCRDs checks that the CRDs are the pinned ones and that each kind occurs once.
func TestCRDs(t *testing.T) {
	var got []string
	for _, stream := range append(hostKinds(t), readFile(t, routeCRD)) {
		for _, doc := range documents(t, stream) {
			var crd struct {
				Spec struct {
					Group string
					Names struct{ Kind string }
				}
			}
			must(t, yaml.Unmarshal(doc, &crd))
			if crd.Spec.Names.Kind != "" {
				got = append(got, crd.Spec.Names.Kind+"."+crd.Spec.Group)
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"BackendTLSPolicy.gateway.networking.k8s.io", "DNSEndpoint.externaldns.k8s.io",
		"GRPCRoute.gateway.networking.k8s.io", "Gateway.gateway.networking.k8s.io",
		"GatewayClass.gateway.networking.k8s.io", "HTTPRoute.gateway.networking.k8s.io",
		"ListenerSet.gateway.networking.k8s.io", "ReferenceGrant.gateway.networking.k8s.io",
		"Route.route.openshift.io", "TCPRoute.gateway.networking.k8s.io", "TLSRoute.gateway.networking.k8s.io",
		"UDPRoute.gateway.networking.k8s.io", "XBackend.gateway.networking.x-k8s.io",
		"XListenerSet.gateway.networking.x-k8s.io",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the kinds are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := crds.HTTPRoutes().Read(t.Context()); err != nil {
		t.Error(err)
	}
}
