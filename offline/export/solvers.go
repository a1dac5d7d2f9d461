package export

import (
	"maps"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// Solvers of ACME challenges, as recognized by policy/solvers.go.
const (
	solverLabel = "acme.cert-manager.io/http01-solver"
	solverPort  = "8089"
	challenge   = `^/\.well-known/acme-challenge/[A-Za-z0-9_-]+$`
)

// solverAccounts returns the users that create solvers. The list is empty if the policy does not recognize solvers.
func (x *exporter) solverAccounts() []string {
	listed, ok := x.settings["solverAccounts"]
	if !ok {
		return policy.SolverAccounts(nil)
	}
	return texts(listed)
}

// solver returns the variable that is true if checks skip an object because it is a solver. The new object is skipped
// if one of the accounts writes it, and the old object if the update turns it into something else.
func (x *exporter) solver(s side, shape func(side) string) variable {
	condition := "false"
	if accounts := x.solverAccounts(); len(accounts) > 0 {
		condition = shape(now) + "&&request.userInfo.?username.orValue('') in " + set(accounts)
		if s == before {
			condition = shape(before) + "&&!(" + shape(now) + ")"
		}
	}
	return variable{"solver" + s.suffix(), condition}
}

// hasSolverLabel returns a condition that an object has the label of solvers.
func hasSolverLabel(s side) string {
	return string(s) + ".metadata.?labels[?'" + solverLabel + "'].orValue('')=='true'"
}

// ingressSolver returns a condition that an Ingress looks like a solver.
func ingressSolver(s side) string {
	rules := string(s) + ".spec.?rules.orValue([])"
	return allOf(hasSolverLabel(s), "!has("+string(s)+".spec.defaultBackend)",
		"size("+string(s)+".spec.?tls.orValue([]))==0", "size("+rules+")>0",
		rules+".all(r,"+bind("l", "r.?http.?paths.orValue([])", "size(l)>0&&l.all(p,string(p.?path.orValue('')).matches("+
			str(challenge)+"))")+")")
}

// routeSolver returns a condition that a route looks like a solver.
func routeSolver(s side) string {
	rules := string(s) + ".spec.?rules.orValue([])"
	return allOf(hasSolverLabel(s), "size("+rules+")>0",
		rules+".all(r,"+bind("l", "r.?matches.orValue([])", "size(l)>0&&l.all(m,string(m.?path.?type.orValue(''))=='Exact'&&"+
			"string(m.?path.?value.orValue('')).matches("+str(challenge)+"))")+")")
}

// serviceSolver returns a condition that a Service looks like a solver.
func serviceSolver(s side) string {
	ports := string(s) + ".spec.?ports.orValue([])"
	return allOf(hasSolverLabel(s), "string("+string(s)+".spec.?type.orValue('')) in ['','ClusterIP','NodePort']",
		"size("+ports+")==1", "string("+ports+"[0].?port.orValue(0))=='"+solverPort+"'")
}

// unlessSolvers returns checks that skip solvers if their ID is in ids. Without ids, all checks skip solvers.
func unlessSolvers(checks []check, ids ...string) []check {
	all := slices.Clone(checks)
	for i, c := range checks {
		if len(ids) == 0 || slices.Contains(ids, c.id) {
			all[i].faults = func(s side) string { return choose("variables.solver"+s.suffix(), "[]", c.faults(s)) }
		}
	}
	return all
}

// requiredAnnotation is the check of annotations that does not apply to solvers.
const requiredAnnotation = "annotations.required"

// validatedAnnotationKeys is like annotationKeys, without the annotations that cert-manager adds to a solver.
func validatedAnnotationKeys(s side) string {
	added := policy.SolverAnnotations()
	var conditions []string
	for _, key := range slices.Sorted(maps.Keys(added)) {
		conditions = append(conditions, "k=="+str(key)+"&&"+metadataAnnotations().value(s)+"=="+str(added[key]))
	}
	keys := annotationKeys(s)
	return choose("variables.solver"+s.suffix(), keys+".filter(k,!("+strings.Join(conditions, "||")+"))", keys)
}
