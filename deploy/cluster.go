package deploy

import (
	"cmp"
	"crypto/x509"
	"maps"
	"slices"
	"time"

	"github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespaces opt in to Evergate, or out of it, with the label optInLabel.
const (
	optInLabel    = "evergate.dev/admission"
	optInEnabled  = "enabled"
	optInDisabled = "disabled" // if namespaces opt out
)

// cluster is an Inventory in the form that the checks use: the objects of Evergate and their relations.
type cluster struct {
	*Inventory
	now       time.Time
	served    []*x509.Certificate // the chain that the Service serves now; nil if it was not dialed
	namespace string              // of Evergate
	all       []*hook             // webhooks of all products
	hooks     []*hook             // webhooks of Evergate
	servers   []*server
	elsewhere []ref // Deployments in other namespaces that run evergate serve
	replaced  []replacement
	dryRuns   []DryRun
	live      bool
	native    bool // only native policies enforce the policy: see checkNativeOnly
}

func newCluster(inv *Inventory, o Options) (*cluster, error) {
	c := &cluster{Inventory: inv, now: o.Now, served: o.Served, dryRuns: o.DryRuns, all: newHooks(inv)}
	for _, h := range c.all {
		if !h.ours {
			continue
		}
		c.hooks = append(c.hooks, h)
		c.live = c.live || live(h.config)
	}
	c.namespace = c.namespaceOfHooks()
	if len(c.hooks) == 0 {
		if err := inv.checkNativeOnly(); err != nil {
			return nil, err
		}
		c.native, c.namespace = true, inv.namespaceOfNative()
		c.live = live(inv.backstop()[0])
		return c, nil
	}
	servers := newServers(inv, c.namespace)
	c.servers, c.replaced = lastOfEach(inv, servers)
	for _, d := range inv.deployments {
		if d.Namespace != c.namespace && Serves(d) {
			c.elsewhere = append(c.elsewhere, inv.ref(d))
		}
	}
	return c, nil
}

// configs yields Evergate's webhook configurations.
func (c *cluster) configs(yield func(apiObject) bool) {
	for i, h := range c.hooks {
		if (i == 0 || c.hooks[i-1].config != h.config) && !yield(h.config) {
			return
		}
	}
}

// service returns the Service that a webhook calls, or nil.
func (c *cluster) service(h *hook) *corev1.Service {
	s := h.ClientConfig.Service
	if s == nil {
		return nil
	}
	return find(c.services, s.Namespace, s.Name)
}

// dnsName returns the name of a webhook's Service that the API server requests and that the certificate has to
// contain.
func (h *hook) dnsName() string {
	return h.ClientConfig.Service.Name + "." + h.ClientConfig.Service.Namespace + ".svc"
}

// serviceNames lists the DNS names that Evergate's webhooks call, without duplicates.
func (c *cluster) serviceNames() []string {
	var names []string
	for _, h := range c.hooks {
		if h.ClientConfig.Service != nil && !slices.Contains(names, h.dnsName()) {
			names = append(names, h.dnsName())
		}
	}
	return names
}

// namespaceLabels returns the labels that a namespace has in the inventory, and the label that the API server sets.
func (inv *Inventory) namespaceLabels(name string) map[string]string {
	set := map[string]string{}
	if ns := find(inv.namespaces, "", name); ns != nil {
		maps.Copy(set, ns.Labels)
	}
	set[corev1.LabelMetadataName] = name
	return set
}

// protected lists the namespaces that Evergate must never match: the namespaces of the control plane and the nodes,
// the namespace of cert-manager, which has to renew the certificate while Evergate is down, and Evergate's own.
func (c *cluster) protected() []string {
	names := []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}
	for _, name := range append(c.certManagerNamespaces(), c.namespace) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// certManagerNamespaces lists the namespaces that cert-manager runs in. If the inventory does not have its
// Deployments, it is the namespace in cert-manager's manifests.
func (c *cluster) certManagerNamespaces() []string {
	var names []string
	for _, d := range c.deployments {
		if d.Labels[labelName] == "cert-manager" {
			names = append(names, d.Namespace)
		}
	}
	if len(names) == 0 {
		return []string{"cert-manager"}
	}
	return names
}

// certificate returns the Certificate that issues a Secret, or nil.
func (c *cluster) certificate(namespace, secret string) *certmanagerv1.Certificate {
	for _, crt := range c.certificates {
		if crt.Namespace == namespace && crt.Spec.SecretName == secret {
			return crt
		}
	}
	return nil
}

// issuerSpec returns the issuer of a Certificate. ok is false if the inventory does not have it.
func (c *cluster) issuerSpec(crt *certmanagerv1.Certificate) (spec certmanagerv1.IssuerSpec, ok bool) {
	if crt.Spec.IssuerRef.Kind == certmanagerv1.ClusterIssuerKind {
		if issuer := find(c.clusterIssuers, "", crt.Spec.IssuerRef.Name); issuer != nil {
			return issuer.Spec, true
		}
		return spec, false
	}
	if issuer := find(c.issuers, crt.Namespace, crt.Spec.IssuerRef.Name); issuer != nil {
		return issuer.Spec, true
	}
	return spec, false
}

// servingCertificates yields Evergate's serving Certificates.
func (c *cluster) servingCertificates(yield func(*certmanagerv1.Certificate) bool) {
	seen := map[*certmanagerv1.Certificate]bool{}
	for _, s := range c.servers {
		crt := c.certificate(s.Namespace, s.tlsSecret())
		if crt != nil && !seen[crt] && !yield(crt) {
			return
		}
		seen[crt] = true
	}
}

// caCertificates yields the Certificates of the CAs that sign Evergate's serving Certificates.
func (c *cluster) caCertificates(yield func(ca, leaf *certmanagerv1.Certificate) bool) {
	for leaf := range c.servingCertificates {
		issuer, ok := c.issuerSpec(leaf)
		if !ok || issuer.CA == nil {
			continue
		}
		for _, crt := range c.certificates {
			reached := crt.Namespace == leaf.Namespace || leaf.Spec.IssuerRef.Kind == certmanagerv1.ClusterIssuerKind
			if reached && crt.Spec.SecretName == issuer.CA.SecretName && !yield(crt, leaf) {
				return
			}
		}
	}
}

// mayHaveIssuer reports whether the issuer of a Certificate exists, or may exist. Manifests do not need to contain a
// ClusterIssuer, and an issuer of another API group is not read.
func (c *cluster) mayHaveIssuer(crt *certmanagerv1.Certificate) bool {
	issuer := crt.Spec.IssuerRef
	_, ok := c.issuerSpec(crt)
	return ok || !live(crt) && issuer.Kind == certmanagerv1.ClusterIssuerKind ||
		issuer.Group != "" && issuer.Group != certmanager.GroupName
}

// issuerName formats the kind and the name of a Certificate's issuer.
func issuerName(crt *certmanagerv1.Certificate) string {
	return cmp.Or(crt.Spec.IssuerRef.Kind, certmanagerv1.IssuerKind) + " " + crt.Spec.IssuerRef.Name
}
