package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/review/reviewtest"
)

// TestDecodeMutants compares decoders with reviews that are almost right. Fuzzers change bytes, and their input is
// seldom valid JSON.
func TestDecodeMutants(t *testing.T) {
	pod := reviewtest.Pod(2, 1)
	pod.Annotations[`a"b`] = "<é>"
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "busybox"}}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "busybox"},
	}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: "model", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "acme/model:1"}},
	})
	ing := reviewtest.Ingress(2)
	ing.Spec.DefaultBackend = ing.Spec.Rules[0].HTTP.Paths[0].Backend.DeepCopy()
	svc := reviewtest.Service()
	svc.Spec.ExternalIPs, svc.Spec.ExternalName = []string{"192.0.2.1"}, "a.example"

	t.Run("pod", func(t *testing.T) {
		mutate(t, reviewtest.Update(pod, reviewtest.Pod(1, 0)), func(t *testing.T, b []byte) bool {
			return compare(t, b, Pods(), typedPod)
		})
	})
	t.Run("ingress", func(t *testing.T) {
		mutate(t, reviewtest.Update(ing, reviewtest.Ingress(1)), func(t *testing.T, b []byte) bool {
			return compare(t, b, Ingresses(), typedIngress)
		})
	})
	t.Run("service", func(t *testing.T) {
		mutate(t, reviewtest.Update(svc, reviewtest.Service()), func(t *testing.T, b []byte) bool {
			return compareKinds(t, b, Services(), typedServices())
		})
	})
	crt := reviewtest.Certificate(2)
	crt.Spec.CommonName, crt.Spec.LiteralSubject = "a.example", "CN=a.example"
	crt.Spec.URIs, crt.Spec.IPAddresses = []string{"https://a.example"}, []string{"192.0.2.1", "::1"}
	t.Run("certificate", func(t *testing.T) {
		mutate(t, reviewtest.Update(crt, reviewtest.Certificate(1)), func(t *testing.T, b []byte) bool {
			return compare(t, b, Certificates(), typedCertificate)
		})
	})
	route := reviewtest.Route()
	route.Spec.Subdomain = "shop"
	t.Run("OpenShift route", func(t *testing.T) {
		mutate(t, reviewtest.Update(route, reviewtest.Route()), func(t *testing.T, b []byte) bool {
			return compare(t, b, OpenShiftRoutes(), typedOpenShiftRoute)
		})
	})
	t.Run("DNS endpoint", func(t *testing.T) {
		mutate(t, reviewtest.Update(reviewtest.DNSRecords(3), reviewtest.DNSRecords(1)), func(t *testing.T, b []byte) bool {
			return compare(t, b, DNSEndpoints(), typedDNSEndpoint)
		})
	})
}

// This test is for kinds that are evaluated in the same way, and for ReferenceGrants.
func TestDecodeMutantsOfGatewayAPI(t *testing.T) {
	for name, body := range map[string][]byte{
		"HTTPRoute": reviewtest.Update(reviewtest.HTTPRoute(2), reviewtest.HTTPRoute(1)),
		"GRPCRoute": reviewtest.Update(reviewtest.GRPCRoute(), reviewtest.GRPCRoute()),
		"TLSRoute":  reviewtest.Update(reviewtest.TLSRoute(), reviewtest.TLSRoute()),
		"TCPRoute":  reviewtest.Update(reviewtest.TCPRoute(), reviewtest.TCPRoute()),
		"UDPRoute":  reviewtest.Update(reviewtest.UDPRoute(), reviewtest.UDPRoute()),
	} {
		t.Run(name, func(t *testing.T) {
			mutate(t, body, func(t *testing.T, b []byte) bool { return compareKinds(t, b, Routes(), typedRoutes()) })
		})
	}
	gateway := reviewtest.Update(reviewtest.Gateway(2), reviewtest.Gateway(1))
	gateways := map[string][]byte{"Gateway": gateway}
	for _, k := range Gateways().Kinds[1:] { // their listeners are the same as a Gateway's
		resource := fmt.Sprintf(`"resource":{"group":%q,"version":%q,"resource":%q}`, k.Resource.Group, k.Resource.Version,
			k.Resource.Name)
		const of = `"resource":{"group":"gateway.networking.k8s.io","version":"v1","resource":"gateways"}`
		gateways[k.Name] = bytes.ReplaceAll(gateway, []byte(of), []byte(resource))
	}
	for name, body := range gateways {
		t.Run(name, func(t *testing.T) {
			mutate(t, body, func(t *testing.T, b []byte) bool { return compareKinds(t, b, Gateways(), typedGateways()) })
		})
	}
	t.Run("ReferenceGrant", func(t *testing.T) {
		mutate(t, reviewtest.Update(reviewtest.ReferenceGrant(), reviewtest.ReferenceGrant()),
			func(t *testing.T, b []byte) bool { return compare(t, b, Grants(), typedGrant) })
	})
}

// mutate calls compare, which reports whether both decoders accepted the body, with hundreds of variants of body. They
// are the same every time.
func mutate(t *testing.T, body []byte, compare func(*testing.T, []byte) bool) {
	var tree any
	if err := json.Unmarshal(body, &tree); err != nil {
		t.Fatal(err)
	}
	const variants = 400 // of each kind; the fuzz targets continue from there
	taken := 0
	for i := range variants {
		m := mutant{rand.New(rand.NewPCG(1, uint64(i)))}
		variant := m.value(tree)
		if compare(t, []byte(variant)) {
			taken++
		}
		if t.Failed() {
			t.Fatalf("variant %d: %s", i, variant)
		}
	}
	if taken < variants/4 || taken > variants*9/10 {
		t.Errorf("both decoders accepted %d of %d variants: too few or too many for a useful test", taken, variants)
	}
}

// mutant writes a tree as JSON, with occasional mistakes.
type mutant struct{ *rand.Rand }

// sometimes is true about once in the given number of calls.
func (m mutant) sometimes(in int) bool { return m.IntN(in) == 0 }

func (m mutant) value(v any) string {
	if m.sometimes(400) {
		odd := []string{`null`, `true`, `5`, `-1.5`, `1e3`, `99999999999`, `""`, `"\ud83d\ude00\ud800"`, "\"\xff\"", `[]`,
			`{}`, `[null]`, `[{}]`, `{"a":"b"}`}
		return odd[m.IntN(len(odd))]
	}
	switch v := v.(type) {
	case map[string]any:
		return m.object(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = m.value(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		return m.quote(v)
	default:
		text, _ := json.Marshal(v)
		return string(text)
	}
}

// object writes the fields in any order. Some are set twice, left out or written in another case.
func (m mutant) object(fields map[string]any) string {
	names := slices.Sorted(maps.Keys(fields))
	m.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var members []string
	for _, name := range names {
		member := m.quote(name) + ": " + m.value(fields[name])
		switch {
		case m.sometimes(1000):
			members = append(members, member, member)
		case m.sometimes(400):
		case m.sometimes(400):
			members = append(members, m.quote(strings.ToUpper(name))+":1", member)
		default:
			members = append(members, member)
		}
	}
	return "{" + strings.Join(members, ",\n") + "}"
}

// quote writes a string. Occasionally, it escapes a character unnecessarily.
func (m mutant) quote(s string) string {
	quoted, _ := json.Marshal(s)
	if len(s) == 0 || s[0] >= 0x80 || s[0] == '"' || s[0] == '<' || !m.sometimes(20) {
		return string(quoted)
	}
	return fmt.Sprintf(`"\u%04x%s`, s[0], quoted[2:])
}
