package deploy

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// hostAnnotation reports annotations of live objects whose values look like host names and that the policy does not
// read.
func hostAnnotation() check {
	return check{
		id: "host-annotation", severity: Warning,
		finds: "annotations that look like host names and that no host rule reads, on Ingresses, Services, routes and " +
			"Gateways in the cluster",
		why: "if a controller serves or publishes the hosts in the annotation, tenants can claim any host with it",
		fix: "find out which controller reads the annotation. If it claims hosts, add an entry to the " +
			"hostAnnotations block of the policy, or deny the key with annotations.denied",
		run: func(c *cluster, r *reporter) {
			if !c.live {
				return
			}
			doc, ok := c.policyDocument()
			if !ok || !checksHosts(&doc) {
				return
			}
			found := map[string]*annotated{}
			for o := range c.claimants {
				kind := c.ref(o).kind
				for key, value := range o.GetAnnotations() {
					if kind == "" || !policy.LooksLikeHosts(value) || doc.ReadsHosts(kind, key) || namesNoHost(key) {
						continue
					}
					at := kind + " " + key
					if found[at] == nil {
						found[at] = &annotated{kind: kind, key: key, first: o, value: value}
					}
					found[at].objects++
					found[at].keepFirst(o, value)
				}
			}
			for _, at := range slices.Sorted(maps.Keys(found)) {
				a := found[at]
				r.warning(c.ref(a.first), "the value %s of the annotation %s looks like host names, and no host rule reads it; "+
					"objects of this kind that have it: %d", text.Quote(a.value), text.Quote(a.key), a.objects)
			}
		},
	}
}

// annotated is an annotation of one kind of objects.
type annotated struct {
	kind, key string
	first     apiObject // by its namespace and name
	value     string    // of first
	objects   int
}

// keepFirst replaces first by an object that sorts before it.
func (a *annotated) keepFirst(o apiObject, value string) {
	if nameOf(o) < nameOf(a.first) {
		a.first, a.value = o, value
	}
}

func nameOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// claimants yields the live objects whose annotations may contain hosts.
func (inv *Inventory) claimants(yield func(apiObject) bool) {
	for _, ing := range inv.ingresses {
		if live(ing) && !yield(ing) {
			return
		}
	}
	for _, svc := range inv.services {
		if live(svc) && !yield(svc) {
			return
		}
	}
	for _, o := range slices.Concat(inv.routes, inv.claimantKinds) {
		if live(o) && !yield(o) {
			return
		}
	}
}

// checksHosts reports whether a policy has a rule about hosts.
func checksHosts(doc *policy.Document) bool {
	return slices.ContainsFunc(doc.Entries, func(e policy.Entry) bool {
		return e.Mode != policy.Off && (e.Block == "owners" || e.Fields["hosts"] != nil)
	})
}

// namesNoHost reports whether a Kubernetes tool writes an annotation, or whether the annotation contains the target
// of requests.
func namesNoHost(key string) bool {
	switch key {
	case "kubectl.kubernetes.io/last-applied-configuration", "external-dns.alpha.kubernetes.io/target",
		"external-dns.kubernetes.io/target", "openshift.io/host.generated",
		"nginx.ingress.kubernetes.io/upstream-vhost", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace":
		return true
	}
	return false
}
