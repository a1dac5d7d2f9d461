package export

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

// variable is a variable of a policy: an expression that is evaluated once, when it is first needed.
type variable struct{ name, expression string }

// check is a check of a rule.
type check struct {
	id string // images.digest
	// faults returns a list of what does not pass in an object, each a map of path, id and why. The id is the identity by
	// which the ratchet recognizes it in the object before.
	faults func(side) string
	// known is whether the fault y was there before, where o is the list of the ids that were; empty where equal ids are
	// enough.
	known string
}

// kind is a kind of objects that is judged.
type kind struct {
	name       string // the block of the policy, and a part of the names of objects
	resources  []admissionv1.NamedRuleWithOperations
	conditions []admissionv1.MatchCondition
	// variables are those that checks read of an object.
	variables func(side) []variable
	checks    func(*policy.Entry) []check
	// classes is the list of the classes that an object names; empty for kinds without.
	classes func(side) string
	// plain returns whether every check of some entries passes, by a cheaper expression that may miss objects that pass
	// too; empty for none.
	plain func([]*policy.Entry) string
	// capacity says how large an object is that so many checks judge; nil for kinds whose objects stay small.
	capacity func(checks int) string
}

// exportKind exports the entries of a block: a policy for those of each mode, and one that warns of what enforced
// entries find that was there before an update. The API server reports the first of the validations that deny, so that
// all entries of a mode are one.
func (x *exporter) exportKind(k kind) {
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

// which are the findings that a policy reports.
type which int

const (
	every      which = iota
	introduced       // by an update, or of an object that is created
	existing         // before the update
)

// addVAP adds a policy and its binding.
func (x *exporter) addVAP(k kind, entries []*policy.Entry, stage string, w which, action admissionv1.ValidationAction) {
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
		FailurePolicy:    new(admissionv1.Fail),
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: k.resources},
		MatchConditions:  conditions,
		Variables:        variablesOf(referenced(vars, passes, "variables.findings")),
		Validations:      []admissionv1.Validation{{Expression: passes, MessageExpression: x.message(passes)}},
	}
	comment := []string{x.heading(k, entries, stage)}
	if k.capacity != nil {
		comment = append(comment, k.capacity(len(lists)))
	}
	x.add(Object{Comment: comment, Object: &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta: typeMeta("ValidatingAdmissionPolicy"), ObjectMeta: x.meta(name), Spec: spec,
	}})
	x.add(Object{Object: &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: typeMeta("ValidatingAdmissionPolicyBinding"), ObjectMeta: x.meta(name),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{action}, MatchResources: x.namespaces(),
		},
	}})
}

// referenced returns the variables that some expressions refer to, or others of them. Each refers to those before it.
func referenced(vars []variable, by ...string) (kept []variable) {
	for _, v := range slices.Backward(vars) {
		if slices.ContainsFunc(by, func(e string) bool { return refersTo(e, v.name) }) {
			kept, by = append(kept, v), append(by, v.expression)
		}
	}
	slices.Reverse(kept)
	return kept
}

// refersTo reports whether an expression refers to a variable.
func refersTo(expression, name string) bool {
	for rest := range strings.SplitSeq(expression, "variables.") {
		if after, ok := strings.CutPrefix(rest, name); ok &&
			(after == "" || !strings.ContainsAny(after[:1], "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
			return true
		}
	}
	return false
}

// rules returns the variables of entries, and the lists of their findings as sentences.
func (x *exporter) rules(k kind, entries []*policy.Entry, w which) (vars []variable, lists []string) {
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

// wasThere returns whether the fault y is reported: whether it was there before, or was not.
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

// faults returns the faults of a check, where the entry is about the object.
func (k kind) faults(e *policy.Entry, c check, s side) string {
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
	shownFindings = 10   // as many as a denial of the webhook names
	shownSentence = 1024 // characters of a finding, as there
	maxMessage    = 5000 // bytes: the API server drops messages of more than 5,120, and adds to none
	maxFindings   = 1000 // at which judging ends, as there
)

// message returns the expression of the message: the findings, as many of them as fit, in one line. The API server
// drops a message with a newline. It evaluates the message of objects that pass, too, and all variables once more for
// it.
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

// heading is the comment of a policy.
func (x *exporter) heading(k kind, entries []*policy.Entry, stage string) string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	does := map[string]string{
		"enforce":  "denies what the entries in mode enforce find",
		"existing": "warns of what they find that was there before an update",
		"warn":     "warns of what the entries in mode warn find",
		"audit":    "writes what the entries in mode audit find into the audit log",
	}[stage]
	return k.name + ": " + does + ": " + strings.Join(names, ", ")
}
