package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// annotationPrefixes is the block annotationPrefixes of a policy: further prefixes under which controllers read their
// annotations. Those that they read without a flag are known, and are always judged too: a second controller may have
// no flag. The block judges nothing by itself; it is for the rules that read annotations of these controllers.
type annotationPrefixes struct {
	// ExternalDNS: what external-dns has in its flag --annotation-prefix.
	ExternalDNS []annotationPrefix `yaml:"externalDNS"`
	// IngressNginx: what ingress-nginx has in its flag --annotations-prefix.
	IngressNginx []annotationPrefix `yaml:"ingressNginx"`
	// HAProxyIngress: what haproxy-ingress has in its flag --annotations-prefix, a list with commas there.
	HAProxyIngress []annotationPrefix `yaml:"haproxyIngress"`
}

// ingressNginxPrefix is the prefix that ingress-nginx has without a flag.
const ingressNginxPrefix = "nginx.ingress.kubernetes.io"

// maxAnnotationPrefixes is how many prefixes a controller may have, since each annotation is compared with all of them:
// a cluster has one for each controller of a kind, which are few.
const maxAnnotationPrefixes = 20

// prefixField is a field of the block.
type prefixField struct {
	name  string
	known []string // the prefixes that the controller has without a flag, those of today first
	list  *[]annotationPrefix
}

func (p *annotationPrefixes) fields() []prefixField {
	return []prefixField{
		{"externalDNS", []string{"external-dns.kubernetes.io", "external-dns.alpha.kubernetes.io"}, &p.ExternalDNS},
		{"ingressNginx", []string{ingressNginxPrefix}, &p.IngressNginx},
		{"haproxyIngress", []string{"haproxy-ingress.github.io", "ingress.kubernetes.io"}, &p.HAProxyIngress},
	}
}

// Validate implements strict.Validator.
func (p *annotationPrefixes) Validate() error {
	var faults strict.Faults
	if p.ExternalDNS == nil && p.IngressNginx == nil && p.HAProxyIngress == nil {
		return errNoCheck("externalDNS, ingressNginx or haproxyIngress")
	}
	for _, f := range p.fields() {
		faults.Add(refuseEmpty(f.name, *f.list))
		if len(*f.list) > maxAnnotationPrefixes {
			faults.Fieldf(f.name, "has %d prefixes; at most %d are read", len(*f.list), maxAnnotationPrefixes)
			continue
		}
		for i, prefix := range *f.list {
			switch {
			case slices.Contains(f.known, string(prefix)):
				faults.Fieldf(f.name, "%s is always read: leave it out", prefix)
			case slices.Contains((*f.list)[:i], prefix):
				faults.Fieldf(f.name, "%s is there twice: leave one out", prefix)
			}
		}
	}
	return faults.Err()
}

// append adds the prefixes of another document, each once.
func (p *annotationPrefixes) append(more *annotationPrefixes) {
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

// UnmarshalText refuses a text that cannot be a prefix: it must be a DNS name. The flags of some controllers have the
// slash too.
func (p *annotationPrefix) UnmarshalText(b []byte) error {
	prefix, slash := strings.CutSuffix(string(b), "/")
	err := match.CheckHostName(prefix)
	switch {
	case err == nil && slash:
		return fmt.Errorf("%s is not a prefix of annotations: leave out the slash at its end", text.Quote(b))
	case slash: // which is no character of a name either
		err = match.CheckHostName(string(b))
	}
	if err != nil {
		return fmt.Errorf("%s is not a prefix of annotations: %w", text.Quote(b), err)
	}
	*p = annotationPrefix(prefix)
	return nil
}

// knownAnnotations are the annotations of controllers that checks read, under the prefixes of one policy, and the
// classes by which controllers read hosts in a way of their own.
type knownAnnotations struct {
	hosts    map[string]*hostAnnotationTable // by kind
	nginx    []string                        // the prefixes of ingress-nginx, with their slash
	globbing globbingClasses
	solvers  []string // the users that create solvers: see solverAccounts
}

// defaultAnnotations returns the annotations under the prefixes that controllers have without a flag.
var defaultAnnotations = sync.OnceValue(func() *knownAnnotations {
	return &knownAnnotations{hosts: hostAnnotationTables(nil, nil), nginx: []string{ingressNginxPrefix + "/"}}
})

// known returns the annotations under the prefixes of the block, those that are always read, and those of rows.
func (p *annotationPrefixes) known(rows hostAnnotationRows) *knownAnnotations {
	if p == nil && len(rows) == 0 {
		return defaultAnnotations()
	}
	nginx := []string{ingressNginxPrefix + "/"}
	if p != nil {
		for _, prefix := range p.IngressNginx {
			nginx = append(nginx, string(prefix)+"/")
		}
	}
	return &knownAnnotations{hosts: hostAnnotationTables(p.more(), rows), nginx: nginx}
}

// more returns the prefixes of the block, by the one that their controller has without a flag.
func (p *annotationPrefixes) more() map[string][]annotationPrefix {
	more := map[string][]annotationPrefix{}
	if p == nil {
		return more
	}
	for _, f := range p.fields() {
		more[f.known[0]] = *f.list
	}
	return more
}

// hostTable returns the annotations of a kind of objects by which they claim hosts.
func (k *knownAnnotations) hostTable(kind string) *hostAnnotationTable {
	if k == nil {
		k = defaultAnnotations()
	}
	return k.hosts[kind]
}

// nginxName returns the name of an annotation of ingress-nginx: its key without the prefix.
func (k *knownAnnotations) nginxName(key string) (name string, ok bool) {
	for _, prefix := range k.nginxPrefixes() {
		if name, ok = strings.CutPrefix(key, prefix); ok {
			return name, true
		}
	}
	return "", false
}

// nginxPrefixes returns the prefixes of ingress-nginx, with their slash.
func (k *knownAnnotations) nginxPrefixes() []string {
	if k == nil {
		k = defaultAnnotations()
	}
	return k.nginx
}
