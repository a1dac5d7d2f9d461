package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/strict"
)

// What a policy file says of itself. It is a file format, not a custom resource.
const (
	APIVersion = "evergate.dev/v1alpha1"
	Kind       = "EvergatePolicy"
)

// File is one policy file: a key of the ConfigMap, or a file on disk.
type File struct {
	Name string // as errors shall name it
	Data []byte
}

// IsFile says whether a file of a directory, or a key of a ConfigMap, is a policy file, by its name.
func IsFile(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// document is one YAML document of a policy file, as it is written.
type document struct {
	APIVersion string           `yaml:"apiVersion,required"`
	Kind       string           `yaml:"kind,required"`
	Mirrors    []mirrorEntry    `yaml:"mirrors"`
	Pods       []podsEntry      `yaml:"pods"`
	Ingresses  []ingressesEntry `yaml:"ingresses"`
	Services   []servicesEntry  `yaml:"services"`
}

// Validate implements strict.Validator.
func (d *document) Validate() error {
	if d.APIVersion != APIVersion {
		return strict.Fieldf("apiVersion", "%q is not supported: write %s", d.APIVersion, APIVersion)
	}
	if d.Kind != Kind {
		return strict.Fieldf("kind", "%q is not a policy: write %s", d.Kind, Kind)
	}
	return nil
}

// Load compiles a policy from files, merged in the order of their names. No file, and files without content, give
// the empty policy, which rewrites nothing and denies nothing. The error names everything that is wrong, a line each,
// with file, line, column and field, in that order.
func Load(files ...File) (*Policy, error) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	var all document
	var errs strict.Errors
	for _, f := range files {
		errs = append(errs, all.merge(f)...)
	}
	var p *Policy
	if len(errs) == 0 {
		p, errs = all.compile()
	}
	if len(errs) > 0 {
		errs.Sort()
		return nil, errs
	}
	p.hash = hash(files)
	return p, nil
}

// merge adds the documents of a file.
func (d *document) merge(f File) strict.Errors {
	docs, err := strict.Parse(f.Name, f.Data)
	if err != nil {
		return asErrors(err)
	}
	var errs strict.Errors
	for _, doc := range docs {
		var part document
		if err := doc.Decode(&part); err != nil {
			errs = append(errs, asErrors(err)...)
			continue
		}
		d.Mirrors = append(d.Mirrors, part.Mirrors...)
		d.Pods = append(d.Pods, part.Pods...)
		d.Ingresses = append(d.Ingresses, part.Ingresses...)
		d.Services = append(d.Services, part.Services...)
	}
	return errs
}

// compile checks what concerns several entries and builds what decisions are made with.
func (d *document) compile() (*Policy, strict.Errors) {
	errs := d.uniqueNames()
	table, mirrorErrs := compileMirrors(d.Mirrors)
	errs = append(errs, mirrorErrs...)
	pods := rulesOf(d.Pods, func(e *podsEntry) rule[judgedPod] { return rule[judgedPod]{e.ruleHeader, e.checks(table)} })
	ings := rulesOf(d.Ingresses, func(e *ingressesEntry) rule[Ingress] { return rule[Ingress]{e.ruleHeader, e.checks()} })
	svcs := rulesOf(d.Services, func(e *servicesEntry) rule[Service] { return rule[Service]{e.ruleHeader, e.checks()} })
	return &Policy{mirrors: table, pods: pods, ingresses: ings, services: svcs}, errs
}

// rulesOf compiles the entries of one kind, those that are off left out.
func rulesOf[E, T any](entries []E, compile func(*E) rule[T]) ruleset[T] {
	var rules []rule[T]
	for i := range entries {
		if r := compile(&entries[i]); r.Mode != Off {
			rules = append(rules, r)
		}
	}
	return newRuleset(rules)
}

// uniqueNames refuses two entries of one name: findings, metrics and alerts could not tell them apart.
func (d *document) uniqueNames() strict.Errors {
	var errs strict.Errors
	first := map[entryName]strict.Pos{}
	see := func(h *header) {
		if pos, again := first[h.Name]; again {
			errs = append(errs, h.Pos.Errorf("the name %q is taken by %s: names are unique in the whole policy", h.Name, pos))
			return
		}
		first[h.Name] = h.Pos
	}
	for i := range d.Mirrors {
		see(&d.Mirrors[i].header)
	}
	for i := range d.Pods {
		see(&d.Pods[i].header)
	}
	for i := range d.Ingresses {
		see(&d.Ingresses[i].header)
	}
	for i := range d.Services {
		see(&d.Services[i].header)
	}
	return errs
}

// hash is the SHA-256 of names and contents, each preceded by its length, cut to what a human compares.
func hash(files []File) string {
	h := sha256.New()
	for _, f := range files {
		for _, part := range [][]byte{[]byte(f.Name), f.Data} {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			h.Write(part)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

func asErrors(err error) strict.Errors {
	if errs, ok := err.(strict.Errors); ok { //nolint:errorlint // Parse and Decode document that they return this type
		return errs
	}
	return strict.Errors{{Msg: err.Error()}}
}
