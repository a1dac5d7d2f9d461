package export

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

// check is the translation of a field of an entry into a check of a rule.
type check struct {
	field string // its path in the entry: images.digest
	id    string // the path of the field, except for one check
	hint  string // the end of the sentence about a fault: is not allowed
	// translate returns faults for the value of the field.
	translate func(value any) string
	// known is a condition that a fault existed before an update. $old is the list of the identities in the old object. If
	// known is empty, equal identities mean the same fault.
	known         string
	unlessSolvers bool // solvers of ACME challenges do not have faults

	faults string // an expression for the list of the faults in an object: see fault
}

// of returns the check of a field.
func of(field, hint string, translate func(value any) string) check {
	return check{field: field, id: field, hint: hint, translate: translate}
}

// always returns the translation of a field whose value does not matter.
func always(faults string) func(any) string { return func(any) string { return faults } }

// translate takes the fields of checks and returns the checks of the fields that an entry has.
func translate(fields policy.Fields, checks []check) (all []check) {
	for _, c := range checks {
		in, name := fields, c.field
		for block, rest, nested := strings.Cut(name, "."); nested; block, rest, nested = strings.Cut(name, ".") {
			in, name = blockOf(in, block), rest
		}
		if in[name] == nil {
			continue
		}
		c.faults = c.translate(in[name])
		if block, ok := in[name].(policy.Fields); !ok || len(block) == 0 { // the fields of a block are taken one by one
			in[name] = nil
		}
		if c.unlessSolvers {
			c.faults = choose("variables.solver", "[]", c.faults)
		}
		all = append(all, c)
	}
	return all
}

// fault returns an expression for a fault. id is the identity by which the ratchet finds the fault in the old object.
// value is the value that the sentence shows. Without it, the sentence consists of the path and the hint.
func fault(path, id string, value ...string) string {
	more := ""
	for _, v := range value {
		more = ",'value':string(" + v + ")"
	}
	return "{'path':" + path + ",'id':string(" + id + ")" + more + "}" // all values of a map have the same type
}

// oneFault returns an expression for a list with one fault if a condition is true, or an empty list.
func oneFault(condition, path, id string, value ...string) string {
	return condition + "?[" + fault(str(path), id, value...) + "]:[]"
}

// exportedKind is a kind of objects that native policies validate.
type exportedKind struct {
	name       string // the block of the policy, and a part of the names of objects
	resources  []admissionv1.NamedRuleWithOperations
	conditions []admissionv1.MatchCondition
	// variables are the variables about an object that checks use. They are also evaluated for the object before an
	// update.
	variables []variable
	selector  selector
	// checks returns the possible checks of an entry, in the order of package policy. It takes fields that belong to
	// several checks.
	checks func(policy.Fields) []check
	// capacity describes the largest object that the given number of checks can validate. It is nil for kinds whose
	// objects are always small.
	capacity func(checks int) string
}

// exportKind exports the entries of a block as one policy for each mode. Another policy warns about findings of
// enforced entries that existed before an update. All entries of a mode are in one policy with one validation,
// because the API server reports only the first validation that denies.
func (x *exporter) exportKind(k *exportedKind) {
	byMode := map[policy.Mode][]*entry{}
	for _, e := range x.entries {
		if e.Block == k.name && e.native() && len(e.checks) > 0 {
			byMode[e.Mode] = append(byMode[e.Mode], e)
		}
	}
	for _, s := range stages() {
		if entries := byMode[s.mode]; len(entries) > 0 {
			x.addVAP(k, entries, s)
		}
	}
}

// stage is a native policy for the entries in one mode.
type stage struct {
	name   string
	mode   policy.Mode
	does   string // for the comment
	action admissionv1.ValidationAction
	// reported is a condition that a fault is reported. $known is a condition that it existed before the update.
	reported string
}

// stages returns the native policies of each kind.
func stages() []stage {
	return []stage{
		{"enforce", policy.Enforce, "denies objects with findings of the entries in mode enforce", admissionv1.Deny,
			"!($known)"},
		{"existing", policy.Enforce, "warns about their findings that existed before an update", admissionv1.Warn, "$known"},
		{"warn", policy.Warn, "warns about findings of the entries in mode warn", admissionv1.Warn, ""},
		{"audit", policy.Audit, "writes findings of the entries in mode audit to the audit log", admissionv1.Audit, ""},
	}
}

// addVAP adds a policy and its binding.
func (x *exporter) addVAP(k *exportedKind, entries []*entry, s stage) {
	conditions := k.conditions
	if s.name == "existing" {
		conditions = append(slices.Clip(conditions),
			admissionv1.MatchCondition{Name: "an-update", Expression: `request.operation == "UPDATE"`})
	}
	vars, checks := rules(k, entries, s)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	spec := admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: k.resources},
		MatchConditions:  conditions,
		Variables:        variablesOf(referenced(vars, "variables.findings")),
		Validations: []admissionv1.Validation{{
			Expression: "size(variables.findings)==0", MessageExpression: x.message(),
			// The API server uses it if the expression returns more than 5,120 bytes.
			Message: "too many findings to list [policy " + x.Hash + "]",
		}},
	}
	comment := []string{k.name + ": " + s.does + ": " + strings.Join(names, ", ")}
	if k.capacity != nil {
		comment = append(comment, k.capacity(checks))
	}
	x.addValidating("evergate-"+k.name+"-"+s.name, comment, spec, s.action, x.namespaces())
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

// rules returns the variables of entries: a variable for each check, and the variable findings with the sentences about
// all faults. It also returns the number of checks.
func rules(k *exportedKind, entries []*entry, s stage) (vars []variable, checks int) {
	vars, named := bothSides(k.variables)
	var findings []string
	for _, e := range entries {
		for _, c := range e.checks {
			faults := faultsOf(e, &c)
			faults.name = e.variable(&c)
			reported := "variables." + faults.name
			vars = append(vars, faults)
			if s.reported != "" {
				vars = append(vars, identitiesBefore(faults, named))
				reported += ".filter(fault," + cel(s.reported, "$known", c.wasKnown(faults.name)) + ")"
			}
			findings = append(findings, reported+".map(fault,"+e.sentence(&c)+")")
		}
	}
	return append(vars, variable{"findings", strings.Join(findings, "+")}), len(findings)
}

// variable returns the name of the variable of a check: rule_only_mirrors__images_from. Names of entries do not have
// upper case letters or underscores.
func (e *entry) variable(c *check) string {
	return "rule_" + strings.NewReplacer("-", "_", ".", "DOT").Replace(e.Name) + "__" + strings.ReplaceAll(c.id, ".", "_")
}

// sentence returns an expression for the sentence about a fault.
func (e *entry) sentence(c *check) string {
	hint := c.hint
	if e.Message != "" {
		hint += " (" + e.Message + ")"
	}
	return cel("$check+fault.path+': '+fault.?value.optMap(value,strings.quote(value)+' ').orValue('')+$hint",
		"$check", str(e.Name+"/"+c.id+": "), "$hint", str(hint))
}

// faultsOf returns a variable with the faults of a check if the entry applies to the object.
func faultsOf(e *entry, c *check) variable {
	faults := c.faults
	if e.applies != "true" {
		faults = choose(e.applies, faults, "[]")
	}
	return variable{e.variable(c), faults}
}

// identitiesBefore returns a variable with the identities of the faults before an update.
func identitiesBefore(faults variable, named map[string]bool) variable {
	return variable{faults.name + "_before",
		"oldObject==null?[]:(" + before(faults.expression, named) + ").map(fault,fault.id)"}
}

// wasKnown returns a condition that a fault existed before.
func (c *check) wasKnown(name string) string {
	known := c.known
	if known == "" {
		known = "fault.id in $old"
	}
	return cel(known, "$old", "variables."+name+"_before")
}

// message returns the expression for the message: the first ten findings on one line. The API server evaluates it even
// for objects that pass, and evaluates all variables again for it.
func (x *exporter) message() string {
	return cel(`[variables.findings].map(all,(size(all)==1?'':string(size(all))+' findings: ')+
		all.slice(0,size(all)<10?size(all):10).join('; ')+$policy)[0]`, "$policy", str(" [policy "+x.Hash+"]"))
}
