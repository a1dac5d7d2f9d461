package policy

import (
	"cmp"
	"errors"
	"reflect"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/podtemplate"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// document is one YAML document of a policy file, as it is written.
type document struct {
	Pos strict.Pos `yaml:"-"` // of the start. In merged documents, of the first document with shared gateway namespaces
	// APIVersion is the version of the file format.
	APIVersion string `yaml:"apiVersion,required"`
	// Kind is the name of the file format. It is not a Kubernetes kind, and API servers do not serve it.
	Kind string `yaml:"kind,required"`
	// AllowEmpty: true means that the policy may be empty. An empty policy allows every object and does not rewrite
	// images.
	AllowEmpty bool `yaml:"allowEmpty"`
	// AnnotationPrefixes: the prefixes of the annotations that controllers read, in addition to their default prefixes.
	// Absent: only the default prefixes.
	AnnotationPrefixes *claim.AnnotationPrefixes `yaml:"annotationPrefixes"`
	// SharedNamespaces: the shared gateway namespaces. The Gateways in these namespaces may serve the hosts of other
	// namespaces. In a pattern, * matches any run of characters. Absent: no namespace is a shared gateway namespace.
	SharedNamespaces claim.SharedNamespaces `yaml:"sharedGatewayNamespaces"`
	// GlobbingClasses: further Ingress classes whose controllers match *.x in a rule with names at any depth. A * in a
	// class matches any run of characters. A class after ! matches one label. Absent: *.x covers names at any depth for
	// the classes alb, azure-application-gateway, azure/application-gateway, gce, gce-internal, haproxy, istio, kong and
	// nginx, and one label for other classes.
	GlobbingClasses claim.GlobbingClasses `yaml:"globbingClasses"`
	// HostAnnotations: annotations that claim hosts, in addition to the known annotations. Absent: only the known
	// annotations claim hosts.
	HostAnnotations claim.AnnotationRows `yaml:"hostAnnotations"`
	// SolverAccounts: the users that create ACME challenge solvers. Some checks do not apply to objects of these users
	// that can only answer challenges. [] means that the checks apply to the objects of all users. Absent:
	// [system:serviceaccount:cert-manager:cert-manager].
	SolverAccounts solverAccounts `yaml:"solverAccounts"`
	// Templates: the custom resources that contain Pod templates, and the fields with the templates. Absent: custom
	// resources are not evaluated.
	Templates podtemplate.Entries `yaml:"templates"`
	// ShortNames: the registry of images that are written without a registry, such as nginx. Absent: docker.io.
	ShortNames mirror.ShortNames `yaml:"shortNameRegistry"`
	// Exceptions: which findings are exempt, and until when. Absent: findings are never exempt.
	Exceptions rule.ExceptionEntries `yaml:"exceptions"`
	blocks
}

// DocumentType returns the Go type of one YAML document of a policy file. internal/schema/generate makes the schema of
// policy files from it.
func DocumentType() reflect.Type { return reflect.TypeFor[document]() }

func (d *document) Validate() error {
	if d.APIVersion != fileAPIVersion {
		return strict.Fieldf("apiVersion", "%s is not supported: write %s", text.Quote(d.APIVersion), fileAPIVersion)
	}
	if d.Kind != fileKind {
		return strict.Fieldf("kind", "%s is not an %s", text.Quote(d.Kind), fileKind)
	}
	return errors.Join(d.GlobbingClasses.CheckLength(), d.HostAnnotations.CheckLength(), d.SolverAccounts.validate())
}

// merge adds the documents in a file.
func (d *document) merge(dec *strict.Decoder, f File) {
	for doc := range dec.Documents(f.source()) {
		if kind, at := doc.Text("kind"); kind != "" && kind != fileKind {
			hint := ""
			if near := text.Nearest(text.Truncate(kind, text.Short), []string{fileKind, "ConfigMap"}); near != "" {
				hint = "; did you mean " + near + "?"
			}
			dec.Errors().Errorf(f.source().Pos(at.Line, at.Column), "kind %s is not an %s%s", text.Name(kind), fileKind, hint)
			continue
		}
		var part document
		if !dec.Decode(doc, &part) {
			// The entries are compared with each other, unless there are more errors than strict.MaxErrors.
			if !dec.Stopped() && dec.Errors().Len() <= strict.MaxErrors {
				d.append(&part.blocks)
				d.Exceptions = append(d.Exceptions, part.Exceptions...)
			}
			continue
		}
		d.AllowEmpty = d.AllowEmpty || part.AllowEmpty
		if more := part.AnnotationPrefixes; more != nil {
			if d.AnnotationPrefixes == nil {
				d.AnnotationPrefixes = new(claim.AnnotationPrefixes)
			}
			d.AnnotationPrefixes.Append(more)
		}
		if part.ShortNames != "" && d.ShortNames != "" && part.ShortNames != d.ShortNames {
			dec.Errors().Errorf(part.Pos, "shortNameRegistry is %s in another document: write it once", d.ShortNames)
		}
		d.ShortNames = cmp.Or(d.ShortNames, part.ShortNames)
		if len(d.SharedNamespaces) == 0 {
			d.Pos = part.Pos
		}
		d.Exceptions = append(d.Exceptions, part.Exceptions...)
		d.SharedNamespaces = append(d.SharedNamespaces, part.SharedNamespaces...)
		d.GlobbingClasses = append(d.GlobbingClasses, part.GlobbingClasses...)
		d.HostAnnotations = append(d.HostAnnotations, part.HostAnnotations...)
		d.SolverAccounts = d.SolverAccounts.with(part.SolverAccounts)
		d.Templates = append(d.Templates, part.Templates...)
		d.append(&part.blocks)
	}
}

// compile compares entries with each other and compiles them.
func (d *document) compile(e *rule.Comparisons, errs *strict.Collector) *Policy {
	p := &Policy{allowEmpty: d.AllowEmpty, templates: d.Templates.Compile(errs), places: d.places(errs)}
	for range d.headers {
		p.entries++
	}
	p.entries -= len(d.Unique) // a policy whose only entries are in unique allows every object
	p.additions = Additions{len(d.Exceptions), len(d.SharedNamespaces), len(d.Templates)}
	c := compilation{
		Comparisons: e, known: claim.NewAnnotations(d.AnnotationPrefixes, d.HostAnnotations, d.GlobbingClasses),
		solvers: d.SolverAccounts.users(), sharedNamespaces: d.SharedNamespaces,
		exceptions: d.Exceptions.Compile(d.headers, e, errs), shortNames: d.ShortNames,
	}
	p.counts = d.counts()
	plain, sets := d.bySet(errs)
	plain.compile(p, c, errs)
	p.compileSets(sets, c, errs)
	if errs.Len() == 0 {
		p.warnings = slices.Concat(
			d.SharedNamespaces.Warnings(d.Pos, p.counts.Owners), d.warnings(p.mirrors, c.known),
			p.mirrors.WarnDenied(d.deniedImages), d.Templates.Warnings(p.counts.Pods), d.Exceptions.Warnings(checkNames))
		p.expiries = d.expiries()
	}
	return p
}

// compare adds errors about conflicts between entries even if the files also have other errors, because a user should
// see all errors together. Of an entry that already has an error, compare checks only the name.
func (d *document) compare(e *rule.Comparisons, errs *strict.Collector) {
	failed := errs.Errors()
	d.places(errs)
	if len(failed) > strict.MaxErrors {
		return // it is unknown which entries have the errors that are only counted
	}
	for _, entries := range d.all() {
		kept := reflect.MakeSlice(entries.Type(), 0, entries.Len())
		for i := range entries.Len() {
			pos := headOf(entries.Index(i)).Pos
			if pos.Line > 0 && !slices.ContainsFunc(failed, pos.Contains) {
				kept = reflect.Append(kept, entries.Index(i))
			}
		}
		entries.Set(kept)
	}
	plain, _ := d.bySet(errs)
	plain.compile(new(Policy), compilation{Comparisons: e}, errs)
}

// compilation contains the values that the compilation needs in addition to the entries.
type compilation struct {
	*rule.Comparisons
	known            *claim.Annotations
	solvers          []string // the users that create solvers
	sharedNamespaces claim.SharedNamespaces
	exceptions       *rule.Exceptions
	shortNames       mirror.ShortNames
	whole            *images.Rules // of the policy to which a rule set belongs; nil for the policy itself

	policy *Policy      // the policy that is being compiled; its mirrors are set
	owners claim.Owners // of the policy
}

// places returns the places of all entries that are not off, and of all exceptions. It adds an error for each name that
// two entries share, because findings, metrics and alerts could not distinguish the entries.
func (d *document) places(errs *strict.Collector) []EntryPlace {
	var all []EntryPlace
	first := map[string]strict.Pos{}
	add := func(block, name string, mode Mode, at strict.Pos) {
		pos, again := first[name]
		switch {
		case name == "": // there is already an error about it
			return
		case again:
			errs.Errorf(at, "the name %s is taken by %s: names must be unique in the whole policy", text.Quote(name), pos)
			return
		case mode != Off:
			all = append(all, EntryPlace{name, block, Problem{File: at.File, Line: at.Line, Column: at.Column}})
		}
		first[name] = at
	}
	for field, entries := range d.all() {
		for i := range entries.Len() {
			h := headOf(entries.Index(i))
			add(field.Tag.Get("yaml"), string(h.Name), h.Mode, h.Pos)
		}
	}
	for i := range d.Exceptions {
		add("exceptions", string(d.Exceptions[i].Name), Enforce, d.Exceptions[i].Pos)
	}
	return all
}
