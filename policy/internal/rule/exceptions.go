package rule

import (
	"iter"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// exceptionsEntry is an entry of exceptions. It silences findings of the listed rules until a given time, for the
// objects that its match selects. The rules still evaluate these objects, and their findings are counted, but the
// findings neither deny nor warn.
type exceptionsEntry struct {
	// Name is unique in the whole policy. Reports and metrics contain it.
	Name entryName `yaml:"name,required"`
	// Rules lists the names of the entries whose findings are silenced. A name with a check, in the form of a finding ID,
	// silences only this check: team-hosts/hosts.allowed. * is any run of characters.
	Rules []rulePattern `yaml:"rules,required"`
	// Match selects the objects that are exempt. An object must meet every dimension of match. Each dimension must have a
	// meaning for all of the rules. The images dimension selects findings by their images.
	Match *Selector `yaml:"match,required"`
	// Until is the end of the exception: a date, which includes the whole day in UTC, or an RFC 3339 time.
	Until Moment `yaml:"until,required"`
	// Reason explains why the exception exists: a ticket, a contact, or one line of text. Reports show it.
	Reason reason     `yaml:"reason,required"`
	Pos    strict.Pos `yaml:"-"`
}

// Suggest implements strict.Suggester.
func (*exceptionsEntry) Suggest(field string) []string {
	if field != selectorName(true) {
		return nil
	}
	var names []string
	for _, d := range new(Selector).dimensions() {
		names = append(names, d.name)
	}
	return names
}

// Validate implements strict.Validator.
func (e *exceptionsEntry) Validate() error {
	var faults strict.Faults
	switch n := len(e.Rules); {
	case n == 0:
		faults.Fieldf("rules", "[] does not list any rule: write the names of entries, as in [team-hosts]")
	case n > maxExceptionRules:
		faults.Fieldf("rules", "has %d elements; at most %d are read", n, maxExceptionRules)
	}
	for _, err := range e.Match.rejectEnd() {
		faults.Add(err)
	}
	if e.Match.Set != "" {
		faults.Fieldf("match", "set has no meaning in an exception: rules lists entries of any rule set")
	}
	if !e.Match.hasDimension() {
		faults.Fieldf("match", "has no dimension: write which objects are exempt, for example by namespaces")
	}
	for _, err := range append(e.Match.rejectEmpty(true), e.Match.rejectImpossible(true)...) {
		faults.Add(err)
	}
	return faults.Err()
}

const (
	// maxExceptions is the maximum number of entries in the block. Each finding is compared with every exception that
	// matches the object.
	maxExceptions = 1000
	// maxExceptionRules is the maximum number of rules in an entry. A ticket is about a few rules, and * matches many.
	maxExceptionRules = 100
)

// ExceptionEntries is the exceptions block of a policy.
type ExceptionEntries []exceptionsEntry

// Compile compiles the entries. It checks that their rules exist among the entries with the given headers, and that
// their match has a meaning for these rules.
func (es ExceptionEntries) Compile(headers iter.Seq[*Header], c *Comparisons, errs *strict.Collector) *Exceptions {
	if len(es) == 0 {
		return nil
	}
	if len(es) > maxExceptions {
		errs.Errorf(es[maxExceptions].Pos, "exceptions has %d entries; at most %d are read", len(es), maxExceptions)
		return nil
	}
	x := newExceptions()
	named := newNamedRules(headers)
	for i := range es {
		e := &es[i]
		named.check(e, c, errs)
		if c.Over || c.PollDone() {
			break
		}
		ends := Exemption{Name: string(e.Name), Until: e.Until.text, Ends: e.Until.ends, Reason: string(e.Reason)}
		x.add(ends, e.Rules, e.Match)
	}
	return x
}

// namedRules contains the entries to which the exceptions of a policy can refer.
type namedRules struct {
	all     []*Header
	byName  map[string]*Header
	mirrors map[string]bool // the names of mirrors entries, which have no findings
}

func newNamedRules(headers iter.Seq[*Header]) *namedRules {
	n := &namedRules{byName: map[string]*Header{}, mirrors: map[string]bool{}}
	for h := range headers {
		if h.dimensions.noSet && h.dimensions.has("images") {
			n.mirrors[string(h.Name)] = true
		} else {
			n.all = append(n.all, h)
			n.byName[string(h.Name)] = h
		}
	}
	return n
}

// check adds an error for each pattern of an entry that does not match a rule. It also adds an error for each dimension
// of the entry's match that has no meaning for a matching rule.
func (n *namedRules) check(e *exceptionsEntry, c *Comparisons, errs *strict.Collector) {
	filed := map[dimension]bool{} // each dimension has one error, for any number of rules
	for _, p := range e.Rules {
		found := false
		for h := range n.find(p, c) {
			found = true
			for _, m := range h.dimensions.meaningless(e.Match) {
				if !filed[m] {
					filed[m] = true
					errs.Errorf(e.Pos, "match.%s has no meaning for the rule %s: %s", m.name, h.Name, m.why)
				}
			}
		}
		switch {
		case c.Over:
			errs.Errorf(e.Pos, "finding the rules of exceptions takes more than %s comparisons, which is the limit: write "+
				"fewer patterns with *", text.Thousands(c.limit))
			return
		case found:
		case n.mirrors[string(p.entry)]:
			errs.Errorf(e.Pos, "rules: %s is a mirrors entry, which has no findings: write until in its exclude, for "+
				"images that are not rewritten until then", p)
		default:
			errs.Errorf(e.Pos, "rules: %s does not match any rule of the policy%s", p, n.nearest(p))
		}
	}
}

// find yields the rules that match a pattern.
func (n *namedRules) find(p rulePattern, c *Comparisons) func(yield func(*Header) bool) {
	return func(yield func(*Header) bool) {
		if !p.entry.IsWild() {
			if h := n.byName[string(p.entry)]; h != nil {
				yield(h)
			}
			return
		}
		for _, h := range n.all {
			if !c.Compare() {
				return
			}
			if p.entry.Match(string(h.Name)) && !yield(h) {
				return
			}
		}
	}
}

// nearest returns the end of an error about a pattern that does not match a rule. It is empty if no name is similar.
func (n *namedRules) nearest(p rulePattern) string {
	const most = 1000 // the number of compared names; a comparison takes a microsecond
	var names []string
	for _, h := range n.all[:min(len(n.all), most)] {
		names = append(names, string(h.Name))
	}
	if best := text.Nearest(string(p.entry), names); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// Warnings returns a warning for each entry that exempts every object, because its rules have no effect, and for each
// pattern with a check that does not exist in any rule. checkNames returns the names of all checks.
func (es ExceptionEntries) Warnings(checkNames func() []string) strict.Errors {
	if len(es) == 0 {
		return nil
	}
	var errs strict.Collector
	checks, remaining := checkNames(), MaxCompared
	for i := range es {
		if errs.Len() >= MaxWarnings {
			break
		}
		if es[i].Match.isEverything() {
			errs.Errorf(es[i].Pos, "match covers every namespace: its rules neither deny nor warn until %s", es[i].Until.text)
		}
		for _, p := range es[i].Rules {
			if p.check == "" {
				continue
			}
			if remaining -= len(checks); remaining < 0 || slices.ContainsFunc(checks, p.check.Match) {
				continue
			}
			meant := ""
			if best := text.Nearest(string(p.check), checks); best != "" {
				meant = "; did you mean " + best + "?"
			}
			errs.Errorf(es[i].Pos, "rules: no rule has the check of %s, so the exception has no effect%s", p, meant)
		}
	}
	return errs.Errors()
}
