package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// annotationRules is the annotations field of ingresses, services, routes and gateways entries. The case of a key does
// not matter for Denied, Values and DeniedValues, because some controllers ignore it (Traefik, paerser's
// nodes_metadata.go). It matters for Required, because others do not.
type annotationRules struct {
	// Denied lists keys that an object must not have, * for any run of characters: ["example.com/*"].
	Denied []match.Glob `yaml:"denied"`
	// Required lists annotations that an object must have.
	Required []annotationRequirement `yaml:"required"`
	// Values lists regular expressions that values must match. An object without the annotation passes, unless the
	// annotation is also required. A value of more than 1,024 characters does not pass.
	Values []annotationValue `yaml:"values"`
	// DeniedValues lists regular expressions that values must not match. A value of more than 1,024 characters does not
	// pass.
	DeniedValues []annotationValue `yaml:"deniedValues"`
}

// annotationRequirement is a required annotation, for example {key: example.com/team}. It may have a regular expression
// that must match the whole value: {key: example.com/team, value: "[a-z]+"}.
type annotationRequirement struct {
	// Key is the full key of the annotation, without patterns.
	Key annotationKey `yaml:"key,required"`
	// Value is a regular expression that must match the whole value. Absent: every value passes, including the empty
	// value.
	Value *match.Regex `yaml:"value"`
}

// annotationValue is a regular expression for the whole value of annotations: {key: "example.com/*", value:
// "true|false"}.
type annotationValue struct {
	// Key is a pattern for the keys of the annotations, * for any run of characters. A pattern with * does not cover
	// kubectl.kubernetes.io/last-applied-configuration, which contains a copy of the object.
	Key match.Glob `yaml:"key,required"`
	// Value is a regular expression for the whole value.
	Value match.Regex `yaml:"value,required"`
}

// LastApplied is the annotation in which kubectl apply keeps a copy of the manifest. No controller reads its value, and
// the value is often longer than regular expressions allow.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// annotationKey is the key of one annotation.
type annotationKey string

// UnmarshalText returns an error for a glob, because a glob does not determine which key is required, and for
// characters that do not print.
func (k *annotationKey) UnmarshalText(b []byte) error {
	if s := string(b); s == "" || strings.Contains(s, "*") {
		return fmt.Errorf("%s is not the key of one annotation: write it out", text.Quote(s))
	}
	*k = annotationKey(b)
	return match.RejectUnprintable(b, "key")
}

func (a *annotationRules) Validate() error {
	if err := a.faults(); err != nil {
		return err
	}
	if a.Denied == nil && a.Required == nil && a.Values == nil && a.DeniedValues == nil {
		return rule.ErrNoCheck("denied, required, values or deniedValues")
	}
	return nil
}

func (a *annotationRules) faults() error {
	var faults strict.Faults
	faults.Add(rule.RejectEmpty("denied", a.Denied))
	faults.Add(rule.RejectEmpty("required", a.Required))
	faults.Add(rule.RejectEmpty("values", a.Values))
	faults.Add(rule.RejectEmpty("deniedValues", a.DeniedValues))
	faults.Add(a.rejectDenied("required", a.Required, "no object can pass"))
	return faults.Err()
}

// rejectDenied returns an error for each key that is denied and also required, by field. so is the consequence, and
// ends the error.
func (a *annotationRules) rejectDenied(field string, required []annotationRequirement, so string) error {
	var faults strict.Faults
	denied := newKeyPatterns(a.Denied, len(required))
	for i := range required {
		key := string(required[i].Key)
		if g, found := denied.find(match.LowerASCII(key)); found {
			faults.Fieldf(field, "%s is also denied, by %s: %s", text.Truncate(key, object.MaxAnnotationKey), g, so)
		}
	}
	if denied.remaining < 0 {
		faults.Fieldf("denied", "comparing its patterns with the keys of %s takes more than %s comparisons, "+
			"which is the limit for their number: write fewer patterns with *", field, text.Thousands(denied.limit))
	}
	return faults.Err()
}

// keyPatterns finds the pattern that matches a key without comparing every pattern with every key.
type keyPatterns struct {
	names            map[match.Glob]struct{}
	heads            map[string][]match.Glob // patterns with a *, by the text before it
	limit, remaining int                     // in comparisons
}

// newKeyPatterns prepares patterns for the given number of keys. It converts them to lower case. The limit allows
// comparing a hundred patterns with each of a hundred keys. Above that, the sum of both numbers bounds the comparisons.
func newKeyPatterns(patterns []match.Glob, keys int) *keyPatterns {
	p := &keyPatterns{names: map[match.Glob]struct{}{}, heads: map[string][]match.Glob{}}
	p.limit = 10_000 + 50*(len(patterns)+keys)
	p.remaining = p.limit
	if keys == 0 {
		return p
	}
	for _, g := range lowerGlobs(patterns) {
		if g.IsWild() {
			p.heads[g.Head()] = append(p.heads[g.Head()], g)
		} else {
			p.names[g] = struct{}{}
		}
	}
	return p
}

// find returns a pattern that matches a key in lower case. It stops when the comparisons are used up. remaining is then
// negative.
func (p *keyPatterns) find(key string) (match.Glob, bool) {
	if _, ok := p.names[match.Glob(key)]; ok {
		return match.Glob(key), true
	}
	for i := 0; i <= min(len(key), object.MaxAnnotationKey) && len(p.heads) > 0; i++ {
		for _, g := range p.heads[key[:i]] {
			if p.remaining--; p.remaining < 0 {
				return "", false
			}
			if g.Match(key) {
				return g, true
			}
		}
	}
	return "", false
}

// annotationChecks compiles rules. It returns nil if rules is nil.
func annotationChecks[T any, P kindView[T]](rules *annotationRules) []rule.Check[T] {
	if rules == nil {
		return nil
	}
	of := func(c metaCheck) rule.Check[T] { return checkOfMeta[T, P]{c} }
	return rule.Checks(
		rule.When(rules.Denied != nil, of(annotationsDenied{rules.Denied, lowerGlobs(rules.Denied)})),
		rule.When(rules.Required != nil, rule.Check[T](unlessSolver[T, P]{of(annotationsRequired{rules.Required})})),
		rule.When(rules.Values != nil, of(annotationsValues{values: lowerKeys(rules.Values)})),
		rule.When(rules.DeniedValues != nil, of(annotationsValues{lowerKeys(rules.DeniedValues), true})),
	)
}

func lowerGlobs(patterns []match.Glob) []match.Glob {
	lower := make([]match.Glob, len(patterns))
	for i, g := range patterns {
		lower[i] = match.Glob(match.LowerASCII(string(g)))
	}
	return lower
}

func lowerKeys(values []annotationValue) []annotationValue {
	lower := slices.Clone(values)
	for i := range lower {
		lower[i].Key = match.Glob(match.LowerASCII(string(lower[i].Key)))
	}
	return lower
}

// metaCheck is a check of metadata, which objects of every kind have.
type metaCheck interface {
	findIn(m *object.Meta, v *view, r *rule.Recorder)
}

// checkOfMeta runs a metaCheck on an object.
type checkOfMeta[T any, P kindView[T]] struct{ metaCheck }

func (c checkOfMeta[T, P]) Find(obj *T, r *rule.Recorder) {
	c.findIn(P(obj).Metadata(), P(obj).base(), r)
}

// annotationPath returns the path of an annotation in metadata.annotations, as users write it.
func annotationPath(key string) string {
	return "metadata.annotations[" + text.QuoteUpTo(object.MaxAnnotationKey, key) + "]"
}

// annotationsDenied is annotations.denied. It finds each annotation whose key matches one of the patterns.
type annotationsDenied struct{ keys, lower []match.Glob }

func (c annotationsDenied) findIn(m *object.Meta, v *view, r *rule.Recorder) {
	for _, a := range v.annotationsInEffect(m, r) {
		if !r.Spend(rule.StepsOf(len(c.keys), a.key)) {
			return
		}
		i := slices.IndexFunc(c.lower, func(g match.Glob) bool { return g.Match(a.lower) })
		if i < 0 {
			continue
		}
		if f := r.TryAdd(a.identity("annotations.denied")); f != nil {
			f.Path, f.Reason = a.path(), "is denied by "+string(c.keys[i])+"; remove it"
		}
	}
}

// annotationsRequired is annotations.required. It finds each required annotation that is missing or whose value does
// not match its regular expression. If a Gateway also has the annotation in spec.infrastructure, both values must
// match.
type annotationsRequired struct{ requirements []annotationRequirement }

func (c annotationsRequired) findIn(m *object.Meta, v *view, r *rule.Recorder) {
	const check = "annotations.required"
	for i := range c.requirements {
		q := &c.requirements[i]
		key := string(q.Key)
		value, set := v.infrastructure[key]
		a := annotation{key: key, value: value, field: infrastructureAnnotations}
		if !q.check(check, m, r) || set && !q.checkValue(check, a, r) {
			return
		}
	}
}

// check adds a finding of the given check if m does not meet the requirement. It reports whether the caller may
// continue.
func (q *annotationRequirement) check(check string, m *object.Meta, r *rule.Recorder) bool {
	key := string(q.Key)
	if value, set := m.Annotations[key]; set {
		return q.checkValue(check, annotation{key: key, value: value}, r)
	}
	if !r.Spend(1) {
		return false
	}
	if f := r.TryAdd(rule.Identity{Check: check, Value: key}); f != nil {
		f.Path, f.Reason = annotationPath(key), "is required; set it"
		if q.Value != nil {
			f.Reason += " to a value that matches " + q.Value.String()
		}
	}
	return true
}

// checkValue is check for an annotation that is set.
func (q *annotationRequirement) checkValue(check string, a annotation, r *rule.Recorder) bool {
	if !r.Spend(1) || q.Value != nil && !r.Spend(q.Value.Steps(a.value)) {
		return false
	}
	if q.Value != nil && !q.Value.Passes(a.value, false) {
		if f := r.TryAdd(a.identity(check)); f != nil {
			f.Path, f.Reason = a.path(), q.Value.Reason(a.value, false)
		}
	}
	return true
}

// annotationsValues is annotations.values. It finds each annotation whose value does not match every regular expression
// for its key. With denied, it is annotations.deniedValues, and finds each annotation whose value matches one of them.
// An absent annotation passes.
type annotationsValues struct {
	values []annotationValue
	denied bool
}

func (c annotationsValues) findIn(m *object.Meta, v *view, r *rule.Recorder) {
	check := "annotations.values"
	if c.denied {
		check = "annotations.deniedValues"
	}
	for _, a := range v.annotationsInEffect(m, r) {
		for i := range c.values {
			v := &c.values[i]
			if !r.Spend(rule.StepsOf(1, a.key)) {
				return
			}
			if !v.Key.Match(a.lower) || a.key == LastApplied && v.Key.IsWild() {
				continue
			}
			if !r.Spend(v.Value.Steps(a.value)) {
				return
			}
			if v.Value.Passes(a.value, c.denied) {
				continue
			}
			if f := r.TryAdd(a.identity(check)); f != nil {
				f.Path, f.Reason = a.path(), v.Value.Reason(a.value, c.denied)
			}
			break
		}
	}
}
