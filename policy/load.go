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
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// These are the apiVersion and kind of a policy file. A policy is a file format, not a custom resource.
const (
	fileAPIVersion = "evergate.dev/v1alpha1"
	fileKind       = "EvergatePolicy"
)

// File is one policy file. It is a key of the ConfigMap or a file on disk.
type File struct {
	Name string // for errors
	Data []byte
	// Lines is the number of lines in the file before Data. Columns is the number of characters before each line of Data.
	// They are not zero if the policy is a block in a manifest. Positions in errors include them.
	Lines, Columns int
}

// isSuite reports whether a file is a test suite. A test suite may be in the same directory as a policy, and is not
// part of the policy. isSuite recognizes it by its name and by the field cases, which policies do not have.
func (f File) isSuite() bool {
	named := strings.HasSuffix(f.Name, "_test.yaml") || strings.HasSuffix(f.Name, "_test.yml")
	return named && (bytes.HasPrefix(f.Data, []byte("cases:")) || bytes.Contains(f.Data, []byte("\ncases:")))
}

// errOnlySuites returns the error for files that are all test suites. Without this error, the policy would be empty.
func errOnlySuites(name string) error {
	at := strict.Pos{File: name, Line: 1, Column: 1}
	return strict.Errors{at.Errorf("this is a suite of tests, not a policy: evergate test runs it")}
}

// source returns the file as the decoder reads it.
func (f File) source() strict.Source {
	return strict.Source{File: f.Name, Data: f.Data, Lines: f.Lines, Columns: f.Columns}
}

// IsFile reports whether the name of a file in a directory, or of a key in a ConfigMap, is the name of a policy file.
func IsFile(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

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
	AnnotationPrefixes *annotationPrefixes `yaml:"annotationPrefixes"`
	// SharedNamespaces: the shared gateway namespaces. The Gateways in these namespaces may serve the hosts of other
	// namespaces. In a pattern, * matches any run of characters. Absent: no namespace is a shared gateway namespace.
	SharedNamespaces sharedNamespaces `yaml:"sharedGatewayNamespaces"`
	// GlobbingClasses: the Ingress classes whose controllers match *.x in a rule with names at any depth. A * in a class
	// matches any run of characters. Absent: *.x covers one label for every class.
	GlobbingClasses globbingClasses `yaml:"globbingClasses"`
	// HostAnnotations: annotations that claim hosts, in addition to the known annotations. Absent: only the known
	// annotations claim hosts.
	HostAnnotations hostAnnotationRows `yaml:"hostAnnotations"`
	// SolverAccounts: the users that create ACME challenge solvers. Some checks do not apply to objects of these users
	// that can only answer challenges. [] means that the checks apply to the objects of all users. Absent:
	// [system:serviceaccount:cert-manager:cert-manager].
	SolverAccounts solverAccounts `yaml:"solverAccounts"`
	// Templates: the custom resources that contain Pod templates, and the fields with the templates. Absent: custom
	// resources are not evaluated.
	Templates templates `yaml:"templates"`
	// Exceptions: which findings are exempt, and until when. Absent: findings are never exempt.
	Exceptions rule.ExceptionEntries `yaml:"exceptions"`
	blocks
}

// DocumentType returns the Go type of one YAML document of a policy file. internal/schema/generate makes the schema of
// policy files from it.
func DocumentType() reflect.Type { return reflect.TypeFor[document]() }

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

// Load compiles a policy from files. It merges the files in the order of their names and applies the limits for files.
// Without files, or if all files are empty, it returns the empty policy, which does not rewrite images and does not
// deny objects. The error contains one mistake per line, with file, line, column and field in that order. It contains
// the first hundred mistakes and the number of the remaining mistakes.
func Load(files ...File) (*Policy, error) {
	return LoadWithin(context.Background(), fileLimits(), files...)
}

// LoadWithin does the same as Load, with other limits. If ctx is done before the policy is loaded, the error wraps the
// cause of ctx.
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
	compare := rule.NewComparisons(ctx, limits.Comparisons)
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

// inOrder returns the policy files, without test suites, in the order in which they are merged. The order is by file
// name without directory, because ConfigMap keys do not have directories.
func inOrder(files []File) []File {
	policies := slices.DeleteFunc(slices.Clone(files), File.isSuite)
	slices.SortStableFunc(policies, func(a, b File) int {
		return cmp.Or(strings.Compare(path.Base(a.Name), path.Base(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return policies
}

// SyntaxError returns an error with file, line and column if a file is not valid YAML. It returns nil if the file is
// valid YAML, whatever its content. The limits for files apply.
func SyntaxError(f File) error {
	l := fileLimits()
	d := strict.NewDecoder(context.Background(), strict.Limits{Values: l.Values})
	for range d.Documents(f.source()) {
		// The loop only collects errors.
	}
	if errs := d.Errors().Errors(); errs != nil {
		return errs
	}
	return nil
}

// NotRendered returns err, which is an error from SyntaxError. If the file looks like a template, it adds a hint to the
// error.
func NotRendered(err error, f File) error {
	if errs, ok := errors.AsType[strict.Errors](err); ok {
		return hintTemplates(errs, []File{f})
	}
	return err
}

// hintTemplates adds a hint to one error for each file that contains template actions. It chooses the first error which
// reports that the file is not valid YAML, or whose line contains an action. YAML parses an action as a mapping.
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
			errs[i].Msg += "; the file contains {{, like a template: render it first, for example with helm template"
		}
	}
	return errs
}

// lineOf returns line n of a text. Lines count from 1. It returns nil if the text has fewer lines.
func lineOf(data []byte, n int) []byte {
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if n--; n == 0 {
			return line
		}
	}
	return nil
}

// hasAction reports whether a text contains a template action. {{namespace}} does not count, because it is a mistake in
// a host.
func hasAction(b []byte) bool {
	return bytes.Contains(b, []byte("{{ ")) || bytes.Contains(b, []byte("{{-")) || bytes.Contains(b, []byte("{{."))
}

// Mistakes returns the number of mistakes in an error from Load, including mistakes that the error only counts.
func Mistakes(err error) int {
	if errs, ok := errors.AsType[strict.Errors](err); ok {
		return errs.Total()
	}
	return 1
}

// merge adds the documents in a file.
func (d *document) merge(dec *strict.Decoder, f File) {
	for doc := range dec.Documents(f.source()) {
		if kind, at := doc.Text("kind"); kind != "" && kind != fileKind {
			dec.Errors().Errorf(f.source().Pos(at.Line, at.Column), "kind %s is not an %s", text.Name(kind), fileKind)
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
				d.AnnotationPrefixes = new(annotationPrefixes)
			}
			d.AnnotationPrefixes.append(more)
		}
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
	d.uniqueNames(errs)
	p := &Policy{allowEmpty: d.AllowEmpty, templates: d.Templates.compile(errs)}
	for range d.headers {
		p.entries++
	}
	p.additions = Additions{len(d.Exceptions), len(d.SharedNamespaces), len(d.Templates)}
	c := compilation{
		Comparisons: e, known: d.GlobbingClasses.known(d.AnnotationPrefixes.known(d.HostAnnotations)),
		solvers: d.SolverAccounts.users(), sharedNamespaces: d.SharedNamespaces,
		exceptions: d.Exceptions.Compile(d.headers, e, errs),
	}
	p.counts = d.counts()
	plain, sets := d.bySet(errs)
	plain.compile(p, c, errs)
	p.compileSets(sets, c, errs)
	if errs.Len() == 0 {
		p.warnings = slices.Concat(
			d.SharedNamespaces.warnings(d.Pos, p.counts.Owners), d.warnings(p.mirrors),
			p.mirrors.WarnDenied(d.deniedImages), d.Templates.warnings(p.counts), d.Exceptions.Warnings(checkNames))
		p.expiries, p.places = d.expiries(), d.places()
	}
	return p
}

// compare adds errors about conflicts between entries even if the files also have other errors, because a user should
// see all errors together. Of an entry that already has an error, compare checks only the name.
func (d *document) compare(e *rule.Comparisons, errs *strict.Collector) {
	failed := errs.Errors()
	d.uniqueNames(errs)
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
	plain.compile(new(Policy), compilation{Comparisons: e, known: defaultAnnotations()}, errs)
}

// compilation contains the values that the compilation needs in addition to the entries.
type compilation struct {
	*rule.Comparisons
	known            *knownAnnotations
	solvers          []string // the users that create solvers
	sharedNamespaces sharedNamespaces
	exceptions       *rule.Exceptions

	policy *Policy      // the policy that is being compiled; its mirrors are set
	owners []ownerLevel // of the policy
}

// rulesOf compiles the entries of one kind, except entries that are off, and adds more rules after them. isSolver is
// as in prepareViews.
func rulesOf[E, T any, P kindView[T]](
	entries []E, c *compilation, compile func(*E) rule.Rule[T], isSolver func(*T, *rule.Recorder) bool,
	more ...rule.Rule[T],
) *rule.Ruleset[T] {
	return rule.CompileRules(entries, c.exceptions, c.PollDone, compile, prepareViews[T, P](c, isSolver), more)
}

// uniqueNames adds an error for each name that two entries share, because findings, metrics and alerts could not
// distinguish the entries.
func (d *document) uniqueNames(errs *strict.Collector) {
	first := map[string]strict.Pos{}
	see := func(h *rule.Header) {
		if h.Name == "" { // there is already an error about it
			return
		}
		if pos, again := first[string(h.Name)]; again {
			errs.Errorf(h.Pos, "the name %s is taken by %s: names must be unique in the whole policy",
				text.Quote(h.Name), pos)
			return
		}
		first[string(h.Name)] = h.Pos
	}
	for h := range d.headers {
		see(h)
	}
	for i := range d.Exceptions {
		see(&rule.Header{Name: d.Exceptions[i].Name, Pos: d.Exceptions[i].Pos})
	}
}

// hash returns the SHA-256 of the contents of files, truncated to 12 hexadecimal digits, which people can compare. The
// names and the order of the files do not matter. A file in a repository has the same hash as its copy in a ConfigMap.
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
