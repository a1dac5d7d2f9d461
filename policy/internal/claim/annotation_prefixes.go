package claim

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// AnnotationPrefixes is the annotationPrefixes block of a policy. It lists further prefixes under which controllers
// read their annotations. Checks always read the default prefixes of a controller too, because a second controller may
// run without the flag. The block does not check objects by itself. It applies to the rules that read annotations of
// these controllers.
type AnnotationPrefixes struct {
	// ExternalDNS lists the values of the external-dns flag --annotation-prefix.
	ExternalDNS []annotationPrefix `yaml:"externalDNS"`
	// IngressNginx lists the values of the ingress-nginx flag --annotations-prefix.
	IngressNginx []annotationPrefix `yaml:"ingressNginx"`
	// HAProxyIngress lists the values of the haproxy-ingress flag --annotations-prefix. The flag separates them by commas.
	HAProxyIngress []annotationPrefix `yaml:"haproxyIngress"`
}

// IngressNginxPrefix is the default prefix of ingress-nginx.
const IngressNginxPrefix = "nginx.ingress.kubernetes.io"

// maxAnnotationPrefixes is the maximum number of prefixes for each controller. Every annotation is compared with all
// prefixes. A cluster has one prefix for each controller of a kind, and only a few such controllers.
const maxAnnotationPrefixes = 20

// prefixField is a field of the annotationPrefixes block.
type prefixField struct {
	name  string
	known []string // the default prefixes of the controller, the current one first
	list  *[]annotationPrefix
}

func (p *AnnotationPrefixes) fields() []prefixField {
	return []prefixField{
		{"externalDNS", []string{"external-dns.kubernetes.io", "external-dns.alpha.kubernetes.io"}, &p.ExternalDNS},
		{"ingressNginx", []string{IngressNginxPrefix}, &p.IngressNginx},
		{"haproxyIngress", []string{"haproxy-ingress.github.io", "ingress.kubernetes.io"}, &p.HAProxyIngress},
	}
}

// Validate implements strict.Validator.
func (p *AnnotationPrefixes) Validate() error {
	var faults strict.Faults
	if p.ExternalDNS == nil && p.IngressNginx == nil && p.HAProxyIngress == nil {
		return rule.ErrNoCheck("externalDNS, ingressNginx or haproxyIngress")
	}
	for _, f := range p.fields() {
		faults.Add(rule.RejectEmpty(f.name, *f.list))
		if len(*f.list) > maxAnnotationPrefixes {
			faults.Fieldf(f.name, "has %d prefixes; at most %d are read", len(*f.list), maxAnnotationPrefixes)
			continue
		}
		for i, prefix := range *f.list {
			switch {
			case slices.Contains(f.known, string(prefix)):
				faults.Fieldf(f.name, "%s is always read: leave it out", prefix)
			case slices.Contains((*f.list)[:i], prefix):
				faults.Fieldf(f.name, "%s is listed twice: leave one out", prefix)
			}
		}
	}
	return faults.Err()
}

// Append adds the prefixes of another document without duplicates.
func (p *AnnotationPrefixes) Append(more *AnnotationPrefixes) {
	all := p.fields()
	for i, f := range more.fields() {
		for _, prefix := range *f.list {
			if !slices.Contains(*all[i].list, prefix) {
				*all[i].list = append(*all[i].list, prefix)
			}
		}
	}
}

// annotationPrefix is the part of an annotation's key before the slash.
type annotationPrefix string

// UnmarshalText accepts a DNS name. It returns an error for a prefix that ends with a slash, although the flags of some
// controllers accept the slash.
func (p *annotationPrefix) UnmarshalText(b []byte) error {
	prefix, slash := strings.CutSuffix(string(b), "/")
	err := match.CheckHostName(prefix)
	switch {
	case err == nil && slash:
		return fmt.Errorf("%s is not a prefix of annotations: leave out the slash at its end", text.Quote(b))
	case slash: // a name does not contain a slash either
		err = match.CheckHostName(string(b))
	}
	if err != nil {
		return fmt.Errorf("%s is not a prefix of annotations: %w", text.Quote(b), err)
	}
	*p = annotationPrefix(prefix)
	return nil
}

// Annotations contains the controller annotations that checks read, under the prefixes of one policy. It also contains
// the classes whose controllers read hosts differently. A nil Annotations contains the annotations under the default
// prefixes.
type Annotations struct {
	hosts    map[string]*hostAnnotationTable // by kind
	nginx    []string                        // the prefixes of ingress-nginx, each with its slash
	globbing GlobbingClasses
}

// defaultAnnotations returns the annotations under the default prefixes of the controllers.
var defaultAnnotations = sync.OnceValue(func() *Annotations { //nolint:gochecknoglobals // of an embedded file
	return &Annotations{hosts: hostAnnotationTables(nil, nil), nginx: []string{IngressNginxPrefix + "/"}}
})

// NewAnnotations returns the annotations under the prefixes of a policy and under the default prefixes, and the
// annotations of rows. prefixes is nil if the policy does not have that block.
func NewAnnotations(prefixes *AnnotationPrefixes, rows AnnotationRows, globbing GlobbingClasses) *Annotations {
	known := *defaultAnnotations()
	if prefixes != nil || len(rows) > 0 {
		known.hosts = hostAnnotationTables(prefixes, rows)
	}
	if prefixes != nil {
		known.nginx = slices.Clone(known.nginx)
		for _, prefix := range prefixes.IngressNginx {
			known.nginx = append(known.nginx, string(prefix)+"/")
		}
	}
	known.globbing = globbing
	return &known
}

// more returns the prefixes of the block, keyed by the current default prefix of their controller.
func (p *AnnotationPrefixes) more() map[string][]annotationPrefix {
	more := map[string][]annotationPrefix{}
	if p == nil {
		return more
	}
	for _, f := range p.fields() {
		more[f.known[0]] = *f.list
	}
	return more
}

// hostTable returns the annotations by which objects of a kind claim hosts.
func (k *Annotations) hostTable(kind string) *hostAnnotationTable {
	if k == nil {
		k = defaultAnnotations()
	}
	return k.hosts[kind]
}

// NginxName returns the name of an ingress-nginx annotation, which is its key without the prefix.
func (k *Annotations) NginxName(key string) (name string, ok bool) {
	for _, prefix := range k.NginxPrefixes() {
		if name, ok = strings.CutPrefix(key, prefix); ok {
			return name, true
		}
	}
	return "", false
}

// NginxPrefixes returns the prefixes of ingress-nginx, each with its slash.
func (k *Annotations) NginxPrefixes() []string {
	if k == nil {
		k = defaultAnnotations()
	}
	return k.nginx
}
