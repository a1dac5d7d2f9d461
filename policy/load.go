package policy

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// The apiVersion and kind of a policy file. It is a file format, not a custom resource.
const (
	fileAPIVersion = "evergate.dev/v1alpha1"
	fileKind       = "EvergatePolicy"
)

// File is one policy file: a key of the ConfigMap, or a file on disk.
type File struct {
	Name string // for errors
	Data []byte
	// Lines is how many lines of the file stand before Data, Columns how many characters before each of its lines: those
	// of the manifest that a policy is a block of. Positions in errors count them.
	Lines, Columns int
}

// isSuite reports whether a file is a suite of tests, which may lie beside a policy and is no part of it: it has the
// name of one, and a field that no policy has.
func (f File) isSuite() bool {
	named := strings.HasSuffix(f.Name, "_test.yaml") || strings.HasSuffix(f.Name, "_test.yml")
	return named && (bytes.HasPrefix(f.Data, []byte("cases:")) || bytes.Contains(f.Data, []byte("\ncases:")))
}

// errOnlySuites refuses what would be an empty policy.
func errOnlySuites(name string) error {
	at := strict.Pos{File: name, Line: 1, Column: 1}
	return strict.Errors{at.Errorf("this is a suite of tests, not a policy: evergate test runs it")}
}

// source returns the file as the decoder reads it.
func (f File) source() strict.Source {
	return strict.Source{File: f.Name, Data: f.Data, Lines: f.Lines, Columns: f.Columns}
}

// IsFile reports whether a file of a directory, or a key of a ConfigMap, is a policy file, by its name.
func IsFile(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// document is one YAML document of a policy file, as it is written.
type document struct {
	Pos strict.Pos `yaml:"-"` // where it begins; of several, where the first one with carriers does
	// APIVersion is the version of the file format.
	APIVersion string `yaml:"apiVersion,required"`
	// Kind is the name of the file format. It is no kind that an API server knows.
	Kind string `yaml:"kind,required"`
	// AllowEmpty: true means that the policy may hold no entry, which switches all of it off.
	AllowEmpty bool `yaml:"allowEmpty"`
	// AnnotationPrefixes: under which prefixes controllers read their annotations, beside those that they have without a
	// flag. Absent: under those alone.
	AnnotationPrefixes *annotationPrefixes `yaml:"annotationPrefixes"`
	// Carriers: the namespaces whose Gateways carry the hosts of others, * for any run of characters. Absent: none.
	Carriers carriers `yaml:"carriers"`
	// GlobbingClasses: the classes of Ingresses of which *.x in a rule is names at any depth, * for any run of characters.
	// Absent: none.
	GlobbingClasses globbingClasses `yaml:"globbingClasses"`
	// HostAnnotations: further annotations by which objects claim hosts, beside those that are known. Absent: none.
	HostAnnotations hostAnnotationRows `yaml:"hostAnnotations"`
	// SolverAccounts: the users that create the solvers of ACME challenges. Some checks do not apply to their objects that
	// can only answer challenges. [] is nobody. Absent: [system:serviceaccount:cert-manager:cert-manager].
	SolverAccounts solverAccounts `yaml:"solverAccounts"`
	// Templates: the custom resources that have templates of Pods, and where. Absent: none.
	Templates templates `yaml:"templates"`
	// Exceptions: which findings are exempt, and until when. Absent: none.
	Exceptions exceptionEntries `yaml:"exceptions"`
	blocks
}

// Validate implements strict.Validator.
func (d *document) Validate() error {
	if d.APIVersion != fileAPIVersion {
		return strict.Fieldf("apiVersion", "%s is not supported: write %s", text.Quote(d.APIVersion), fileAPIVersion)
	}
	if d.Kind != fileKind {
		return strict.Fieldf("kind", "%s is not an %s", text.Quote(d.Kind), fileKind)
	}
	return errors.Join(d.GlobbingClasses.validate(), d.HostAnnotations.validate(), d.SolverAccounts.validate())
}

// Load compiles a policy from files, within the limits for files, merged in the order of their names. Without files,
// and from files without content, it returns the empty policy, which rewrites nothing and denies nothing. The error has
// one mistake a line, with file, line, column and field, in that order: the first hundred, and how many more there are.
func Load(files ...File) (*Policy, error) {
	return LoadWithin(context.Background(), fileLimits(), files...)
}

// LoadWithin is Load within other limits, until ctx is done: then the error wraps its cause.
func LoadWithin(ctx context.Context, limits Limits, files ...File) (*Policy, error) {
	policies := inOrder(files)
	if len(files) > 0 && len(policies) == 0 {
		return nil, errOnlySuites(files[0].Name)
	}
	files = policies
	d := strict.NewDecoder(ctx, strict.Limits{
		Values: limits.Values, Entries: limits.Entries, Texts: limits.Patterns, Cost: limits.RegexSteps,
	})
	errs := d.Errors()
	limits.check(files, errs)
	var all document
	if errs.Len() == 0 {
		for _, f := range files {
			all.merge(d, f)
		}
	}
	var p *Policy
	compare := &comparisons{ctx: ctx, limit: limits.Comparisons}
	if errs.Len() == 0 {
		p = all.compile(compare, errs)
	} else if !d.Stopped() {
		all.compare(compare, errs)
	}
	switch {
	case ctx.Err() != nil:
		return nil, errStopped(ctx)
	case errs.Len() > 0:
		return nil, hintTemplates(errs.Errors(), files)
	}
	p.hash = hash(files)
	for _, in := range p.sets {
		in.hash = p.hash
	}
	return p, nil
}

// inOrder returns the files of policies, without suites of tests, in the order in which they are merged: that of their
// names without directories, as the keys of a ConfigMap have none.
func inOrder(files []File) []File {
	policies := slices.DeleteFunc(slices.Clone(files), File.isSuite)
	slices.SortStableFunc(policies, func(a, b File) int {
		return cmp.Or(strings.Compare(path.Base(a.Name), path.Base(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return policies
}

// SyntaxError returns an error, with file, line and column, where a file is not YAML, and nil where it is, whatever it
// holds. The limits for files apply.
func SyntaxError(f File) error {
	l := fileLimits()
	d := strict.NewDecoder(context.Background(), strict.Limits{Values: l.Values})
	for range d.Documents(f.source()) {
		// Only the errors count.
	}
	if errs := d.Errors().Errors(); errs != nil {
		return errs
	}
	return nil
}

// NotRendered returns the error of SyntaxError with the hint that a file is a template, if the file looks like one.
func NotRendered(err error, f File) error {
	if errs, ok := errors.AsType[strict.Errors](err); ok {
		return hintTemplates(errs, []File{f})
	}
	return err
}

// hintTemplates adds a hint to the first error of each file that has the actions of a template: the file is not YAML, or
// the action is in the line of the error, where it is a mapping for YAML.
func hintTemplates(errs strict.Errors, files []File) strict.Errors {
	for _, f := range files {
		if !hasAction(f.Data) {
			continue
		}
		i := slices.IndexFunc(errs, func(e strict.Error) bool {
			return e.File == f.Name &&
				(strings.HasPrefix(e.Msg, "not valid YAML") || hasAction(lineOf(f.Data, e.Line-f.Lines)))
		})
		if i >= 0 {
			errs[i].Msg += "; the file has {{, as templates do: render it first, as helm template does"
		}
	}
	return errs
}

// lineOf returns a line of a text. Lines count from 1. It returns nil if the text has no such line.
func lineOf(data []byte, n int) []byte {
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if n--; n == 0 {
			return line
		}
	}
	return nil
}

// hasAction reports whether a text has an action of a template. {{namespace}} is a mistake in a host.
func hasAction(b []byte) bool {
	return bytes.Contains(b, []byte("{{ ")) || bytes.Contains(b, []byte("{{-")) || bytes.Contains(b, []byte("{{."))
}

// Mistakes returns how many mistakes an error of Load is about, including those that it only counts.
func Mistakes(err error) int {
	if errs, ok := errors.AsType[strict.Errors](err); ok {
		return errs.Total()
	}
	return 1
}

// merge adds the documents of a file.
func (d *document) merge(dec *strict.Decoder, f File) {
	for doc := range dec.Documents(f.source()) {
		if kind, at := doc.Text("kind"); kind != "" && kind != fileKind {
			dec.Errors().Errorf(f.source().Pos(at.Line, at.Column), "kind %s is not an %s", text.Name(kind), fileKind)
			continue
		}
		var part document
		if !dec.Decode(doc, &part) {
			// The entries are checked against each other, unless there are more errors than are kept.
			if !dec.Stopped() && dec.Errors().Len() <= strict.MaxErrors {
				d.append(&part.blocks)
				d.Exceptions = append(d.Exceptions, part.Exceptions...)
			}
			continue
		}
		d.AllowEmpty = d.AllowEmpty || part.AllowEmpty
		if more := part.AnnotationPrefixes; more != nil {
			if d.AnnotationPrefixes == nil {
				d.AnnotationPrefixes = new(annotationPrefixes)
			}
			d.AnnotationPrefixes.append(more)
		}
		if len(d.Carriers) == 0 {
			d.Pos = part.Pos
		}
		d.Exceptions = append(d.Exceptions, part.Exceptions...)
		d.Carriers = append(d.Carriers, part.Carriers...)
		d.GlobbingClasses = append(d.GlobbingClasses, part.GlobbingClasses...)
		d.HostAnnotations = append(d.HostAnnotations, part.HostAnnotations...)
		d.SolverAccounts = d.SolverAccounts.with(part.SolverAccounts)
		d.Templates = append(d.Templates, part.Templates...)
		d.append(&part.blocks)
	}
}

// compile checks entries against each other and compiles them.
func (d *document) compile(e *comparisons, errs *strict.Collector) *Policy {
	d.uniqueNames(errs)
	p := &Policy{allowEmpty: d.AllowEmpty, templates: d.Templates.compile(errs)}
	d.headers(func(*header) { p.entries++ })
	p.additions = Additions{len(d.Exceptions), len(d.Carriers), len(d.Templates)}
	known := d.SolverAccounts.knownWith(d.GlobbingClasses.known(d.AnnotationPrefixes.known(d.HostAnnotations)))
	c := compilation{
		comparisons: e, known: known, carriers: d.Carriers, exceptions: d.Exceptions.compile(&d.blocks, e, errs),
	}
	p.counts = d.counts()
	plain, sets := d.bySet(errs)
	plain.compile(p, c, errs)
	p.compileSets(sets, c, errs)
	if errs.Len() == 0 {
		p.warnings = slices.Concat(d.Carriers.warnings(d.Pos, p.counts), d.warnings(p.mirrors), p.mirrors.warnDenied(d.Pods),
			d.Templates.warnings(p.counts), d.Exceptions.warnings())
		p.expiries, p.places = d.expiries(), d.places()
	}
	return p
}

// compare files the errors between entries of files that have other errors too, so that a user sees all of them
// together. Entries with an error of their own count only for their names.
func (d *document) compare(e *comparisons, errs *strict.Collector) {
	failed := errs.Errors()
	d.uniqueNames(errs)
	if len(failed) > strict.MaxErrors {
		return // it is not known which entries have the errors that are only counted
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
	plain.compile(new(Policy), compilation{comparisons: e, known: defaultAnnotations()}, errs)
}

// compilation is what the compilation of entries needs in addition to the entries.
type compilation struct {
	*comparisons
	known      *knownAnnotations
	carriers   carriers
	exceptions *exceptions

	policy *Policy      // that is compiled, with its mirrors
	owners []ownerLevel // of the policy
}

// rulesOf compiles the entries of one kind, except those that are off, and adds more rules to them.
func rulesOf[E, T any](entries []E, c *compilation, compile func(*E) rule[T], more ...rule[T]) *ruleset[T] {
	var rules []rule[T]
	for i := range entries {
		if c.pollDone() {
			break
		}
		if r := compile(&entries[i]); r.Mode != Off {
			rules = append(rules, r)
		}
	}
	s := newRuleset(append(rules, more...))
	s.known, s.exceptions = c.known, c.exceptions
	return s
}

// uniqueNames refuses two entries of one name, which findings, metrics and alerts could not distinguish.
func (d *document) uniqueNames(errs *strict.Collector) {
	first := map[entryName]strict.Pos{}
	see := func(h *header) {
		if h.Name == "" { // it has an error of its own
			return
		}
		if pos, again := first[h.Name]; again {
			errs.Errorf(h.Pos, "the name %s is taken by %s: names are unique in the whole policy",
				text.Quote(h.Name), pos)
			return
		}
		first[h.Name] = h.Pos
	}
	d.headers(see)
	for i := range d.Exceptions {
		see(&header{Name: d.Exceptions[i].Name, Pos: d.Exceptions[i].Pos})
	}
}

// hash returns the SHA-256 of the contents of files, whatever their names and order, truncated to 12 hexadecimal
// digits: as many as an operator compares. A file in a repository has the hash that the same file has in a ConfigMap.
func hash(files []File) string {
	var sums []string
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		sums = append(sums, string(sum[:]))
	}
	slices.Sort(sums)
	all := sha256.Sum256([]byte(strings.Join(sums, "")))
	return hex.EncodeToString(all[:])[:12]
}
