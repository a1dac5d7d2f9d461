package policy

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"unicode"

	"github.com/evergate/evergate/policy/internal/strict"
)

// header is what all entries of a policy have in common.
type header struct {
	Name    entryName  `yaml:"name,required"` // unique in the whole policy; findings and metrics carry it
	Mode    Mode       `yaml:"mode,required"`
	Match   *selector  `yaml:"match"`   // absent: every object
	Exclude *selector  `yaml:"exclude"` // wins over match
	Pos     strict.Pos `yaml:"-"`
}

// skips tells whether the entry looks at s, and if not, why.
func (h *header) skips(s *subject) skip {
	if sk := h.Match.misses(s); sk.dimension != "" {
		return sk
	}
	return h.Exclude.hits(s)
}

// validate is called by the Validate methods of the entries, with what makes sense for their kind.
func (h *header) validate(d dimensions) error {
	return errors.Join(append(d.refuse(h.Match, true), d.refuse(h.Exclude, false)...)...)
}

// entryName is the name of an entry: lower case letters, digits, - and ., at most 63 characters, so that it can stand
// in metrics and annotations as it is.
type entryName string

func (n *entryName) UnmarshalText(text []byte) error {
	if len(text) == 0 || len(text) > 63 {
		return fmt.Errorf("a name has 1 to 63 characters, this one has %d", len(text))
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return fmt.Errorf("%q is not a name: use only lower case letters, digits, dots and hyphens", text)
		}
	}
	*n = entryName(text)
	return nil
}

// ruleHeader is the header of the entries that judge: pods, ingresses, services.
type ruleHeader struct {
	header
	Message note `yaml:"message"` // added to each finding in brackets: whom to ask, where to read on
}

// note is text that stands in sentences as it is written: one line, and nothing in it that a terminal would obey.
type note string

// UnmarshalText refuses control characters, for which the API server drops a warning.
func (n *note) UnmarshalText(text []byte) error {
	if bytes.ContainsFunc(text, unicode.IsControl) {
		return errors.New("a message is one line without control characters: YAML makes one of several that stand after >-")
	}
	*n = note(text)
	return nil
}

// check is one question that a rule asks of an object. Its type's doc comment is its specification.
type check[T any] interface {
	find(obj *T, r *report)
}

// rule is an entry that judges, compiled.
type rule[T any] struct {
	ruleHeader
	checks []check[T]
}

// ask puts all questions of the rule to an object that it applies to.
func (ru *rule[T]) ask(obj *T, r *report) {
	r.rule = &ru.ruleHeader
	for _, c := range ru.checks {
		c.find(obj, r)
	}
}

// report takes what the checks of one rule after the other find in one object. Checks fill Check, Path, Reason and Value
// (or Count, or Range).
type report struct {
	rule *ruleHeader
	tell func(Finding)

	parsedHosts []ingressHost // of an Ingress, when somebody has asked: see hosts
}

func (r *report) add(f Finding) {
	f.Rule, f.Mode, f.Note = string(r.rule.Name), r.rule.Mode, string(r.rule.Message)
	r.tell(f)
}

// object is what every judged type is: something with metadata.
type object[T any] interface {
	*T
	meta() *Meta
}

func (m *Meta) meta() *Meta { return m }

// judge asks every rule about obj. An update (old is not nil) is answerable only for what it brings.
func judge[T any, P object[T]](s *ruleset[T], a Attributes, obj, old *T) []Finding {
	candidates := s.index.candidates(a.Namespace)
	var found findings
	if old != nil {
		// Most updates have no finding, and then nobody need know what was there before.
		found.before = sync.OnceValue(func() ledger {
			before := newLedger()
			askAll[T, P](s, candidates, a, old, before.add)
			return before
		})
	}
	askAll[T, P](s, candidates, a, obj, found.add)
	return found.list()
}

// askAll asks those of the candidates that look at obj, and tells what they find.
func askAll[T any, P object[T]](s *ruleset[T], candidates []int, a Attributes, obj *T, tell func(Finding)) {
	sub := newSubject(a, P(obj).meta())
	r := report{tell: tell}
	for _, i := range candidates {
		if rule := &s.rules[i]; rule.skips(&sub).dimension == "" {
			rule.ask(obj, &r)
		}
	}
}

// RuleTrace says of one rule whether it looked at an object, for review --explain.
type RuleTrace struct {
	Rule     string
	Mode     Mode
	Applies  bool
	Why      string // "applies", or what keeps it from applying
	Findings int    // how many it had; 0 when it does not apply
}

func explain[T any, P object[T]](s *ruleset[T], a Attributes, obj *T) []RuleTrace {
	sub := newSubject(a, P(obj).meta())
	traces := make([]RuleTrace, len(s.rules))
	for i := range s.rules {
		rule := &s.rules[i]
		sk := rule.skips(&sub)
		t := rule.trace(sk.String())
		if t.Applies = sk.dimension == ""; t.Applies {
			rule.ask(obj, &report{tell: func(Finding) { t.Findings++ }})
		}
		traces[i] = t
	}
	return traces
}

// unasked are the traces of an object that no rule is asked about.
func (s *ruleset[T]) unasked(why string) []RuleTrace {
	traces := make([]RuleTrace, len(s.rules))
	for i := range s.rules {
		traces[i] = s.rules[i].trace(why)
	}
	return traces
}

func (h *header) trace(why string) RuleTrace {
	return RuleTrace{Rule: string(h.Name), Mode: h.Mode, Why: why}
}
