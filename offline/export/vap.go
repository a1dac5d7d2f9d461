package export

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

// variable is a variable of a policy: an expression that is evaluated once, when it is first used.
type variable struct{ name, expression string }

// check is a check of a rule.
type check struct {
	id string // images.digest
	// faults returns an expression for a list of the faults in an object. Each fault is a map of path, id and why.
	// The id is the identity by which the ratchet recognizes the fault in the old object.
	faults func(side) string
	// known is a condition that the fault y existed before. o is the list of the ids in the old object. If known is
	// empty, equal ids mean the same fault.
	known string
}

// exportedKind is a kind of objects that native policies validate.
type exportedKind struct {
	name       string // the block of the policy, and a part of the names of objects
	resources  []admissionv1.NamedRuleWithOperations
	conditions []admissionv1.MatchCondition
	// variables returns the variables about an object that checks use.
	variables func(side) []variable
	checks    func(*policy.Entry) []check
	// classes returns an expression for the list of the classes of an object. It is nil for kinds without classes.
	classes func(side) string
	// plain returns a cheaper condition that every check of some entries passes. It may be false for an object that
	// passes. It is nil or returns an empty string if there is no such condition.
	plain func([]*policy.Entry) string
	// capacity describes the largest object that the given number of checks can validate. It is nil for kinds whose
	// objects are always small.
	capacity func(checks int) string
}

// exportKind exports the entries of a block as one policy for each mode. Another policy warns about findings of
// enforced entries that existed before an update. All entries of a mode are in one policy with one validation,
// because the API server reports only the first validation that denies.
func (x *exporter) exportKind(k exportedKind) {
	byMode := map[policy.Mode][]*policy.Entry{}
	for i := range x.entries {
		if e := &x.entries[i]; e.Block == k.name && x.native(e) && len(k.checks(e)) > 0 {
			byMode[e.Mode] = append(byMode[e.Mode], e)
		}
	}
	if enforced := byMode[policy.Enforce]; len(enforced) > 0 {
		x.addVAP(k, enforced, "enforce", introduced, admissionv1.Deny)
		x.addVAP(k, enforced, "existing", existing, admissionv1.Warn)
	}
	if warned := byMode[policy.Warn]; len(warned) > 0 {
		x.addVAP(k, warned, "warn", every, admissionv1.Warn)
	}
	if audited := byMode[policy.Audit]; len(audited) > 0 {
		x.addVAP(k, audited, "audit", every, admissionv1.Audit)
	}
}

// which selects the findings that a policy reports.
type which int

const (
	every      which = iota
	introduced       // by an update, or in a new object
	existing         // before the update
)

// addVAP adds a policy and its binding.
func (x *exporter) addVAP(
	k exportedKind, entries []*policy.Entry, stage string, w which, action admissionv1.ValidationAction,
) {
	name := "evergate-" + k.name + "-" + stage
	conditions := k.conditions
	if w == existing {
		conditions = append(slices.Clip(conditions),
			admissionv1.MatchCondition{Name: "an-update", Expression: `request.operation == "UPDATE"`})
	}
	vars, lists := x.rules(k, entries, w)
	vars = append(vars, variable{"findings", sum(lists...)})
	passes := "size(variables.findings)==0"
	if k.plain != nil && w != existing {
		if plain := k.plain(entries); plain != "" {
			vars = append(vars, variable{"plain", plain})
			passes = "variables.plain||" + passes
		}
	}
	spec := admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: k.resources},
		MatchConditions:  conditions,
		Variables:        variablesOf(referenced(vars, passes, "variables.findings")),
		Validations:      []admissionv1.Validation{{Expression: passes, MessageExpression: x.message(passes)}},
	}
	comment := []string{x.heading(k, entries, stage)}
	if k.capacity != nil {
		comment = append(comment, k.capacity(len(lists)))
	}
	x.addValidating(name, comment, spec, action, x.namespaces())
}

// addValidating adds a policy and its binding. namespaces is nil if the policy applies to all namespaces.
func (x *exporter) addValidating(
	name string, comment []string, spec admissionv1.ValidatingAdmissionPolicySpec, action admissionv1.ValidationAction,
	namespaces *admissionv1.MatchResources,
) {
	spec.FailurePolicy = new(admissionv1.Fail)
	x.add(Object{Comment: comment, Object: &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta: typeMeta("ValidatingAdmissionPolicy"), ObjectMeta: x.meta(name), Spec: spec,
	}})
	x.add(Object{Object: &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: typeMeta("ValidatingAdmissionPolicyBinding"), ObjectMeta: x.meta(name),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{action}, MatchResources: namespaces,
		},
	}})
}

// referenced returns the variables that are used directly or indirectly by expressions. A variable can use only
// earlier variables.
func referenced(vars []variable, by ...string) (kept []variable) {
	for _, v := range slices.Backward(vars) {
		if slices.ContainsFunc(by, func(e string) bool { return refersTo(e, v.name) }) {
			kept, by = append(kept, v), append(by, v.expression)
		}
	}
	slices.Reverse(kept)
	return kept
}

// refersTo reports whether an expression uses a variable.
func refersTo(expression, name string) bool {
	for rest := range strings.SplitSeq(expression, "variables.") {
		if after, ok := strings.CutPrefix(rest, name); ok &&
			(after == "" || !strings.ContainsAny(after[:1], "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
			return true
		}
	}
	return false
}

// rules returns the variables of entries, and expressions for the lists of their findings as sentences.
func (x *exporter) rules(k exportedKind, entries []*policy.Entry, w which) (vars []variable, lists []string) {
	vars = k.variables(now)
	if w != every {
		vars = append(vars, k.variables(before)...)
	}
	for i, e := range entries {
		for j, c := range k.checks(e) {
			name := "rule_" + number(i) + "_" + number(j)
			vars = append(vars, variable{name, k.faults(e, c, now)})
			reported := "variables." + name
			switch w {
			case introduced, existing:
				old := name + before.suffix()
				vars = append(vars, variable{old, "oldObject==null?[]:" + bind("o", k.faults(e, c, before), "o.map(y,y.id)")})
				reported += ".filter(y," + wasThere(c, w, "variables."+old) + ")"
			case every:
			}
			note := ""
			if e.Message != "" {
				note = "+" + str(" ("+e.Message+")")
			}
			lists = append(lists, reported+".map(y,"+str(e.Name+"/"+c.id+": ")+"+y.path+': '+y.why"+note+")")
		}
	}
	return vars, lists
}

// wasThere returns a condition that the fault y is reported: that it existed before, or that it did not.
func wasThere(c check, w which, old string) string {
	there := "y.id in " + old
	if c.known != "" {
		there = bind("o", old, c.known)
	}
	if w == introduced {
		return "!(" + there + ")"
	}
	return there
}

// faults returns an expression for the faults of a check if the entry applies to the object.
func (k exportedKind) faults(e *policy.Entry, c check, s side) string {
	classes := ""
	if k.classes != nil {
		classes = k.classes(s)
	}
	applies := selects(e, s, classes)
	if applies == "true" {
		return c.faults(s)
	}
	return choose(applies, c.faults(s), "[]")
}

const (
	shownFindings = 10   // the maximum in a denial of the webhook
	shownSentence = 1024 // characters of a finding, as in the webhook
	maxMessage    = 5000 // bytes; the API server drops messages of more than 5,120 bytes
	maxFindings   = 1000 // after which the evaluation ends, as in the webhook
)

// message returns the expression for the message: as many findings as fit, on one line. The API server drops a
// message with a newline. It evaluates the message even for objects that pass, and evaluates all variables again for
// the message.
func (x *exporter) message(passes string) string {
	shown := "f.slice(0,size(f)<n?size(f):n).map(s,size(s)>" + number(shownSentence) + "?s.substring(0," +
		number(shownSentence-1) + ")+'…':s).join('; ')"
	total := "size(f)>" + number(maxFindings) + "?'" + number(maxFindings) + "':string(size(f))"
	head := "size(f)==1?'':(" + total + ")+' findings'+(size(f)>n?', the first '+string(n):'')+': '"
	text := "(" + head + ")+" + shown + "+" + str(" [policy "+x.Hash+"]")
	return "(" + passes + ")?'':" + bind("f", "variables.findings", "(["+number(shownFindings)+",5,3,2,1].map(n,"+text+
		")+[string(size(f))+' findings'])"+
		".filter(m,size(bytes(m))<="+number(maxMessage)+")[0]")
}

// heading returns the comment above a policy.
func (x *exporter) heading(k exportedKind, entries []*policy.Entry, stage string) string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	does := map[string]string{
		"enforce":  "denies objects with findings of the entries in mode enforce",
		"existing": "warns about their findings that existed before an update",
		"warn":     "warns about findings of the entries in mode warn",
		"audit":    "writes findings of the entries in mode audit to the audit log",
	}[stage]
	return k.name + ": " + does + ": " + strings.Join(names, ", ")
}
