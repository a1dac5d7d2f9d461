package export

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy"
)

// Solvers of ACME challenges, as recognized by policy/solvers.go.

// solver returns variables with the condition that checks skip an object because it is a solver. shape is a condition
// that an object looks like a solver. The new object is skipped if one of the accounts writes it, and the old object if
// the update turns it into something else.
func (x *exporter) solver(shape string) []variable {
	accounts := policy.SolverAccounts(nil) // the list is empty if the policy does not recognize solvers
	if listed, ok := x.settings["solverAccounts"]; ok {
		accounts = texts(listed)
	}
	return []variable{
		{"solver_shape", cel("object.metadata.?labels[?'acme.cert-manager.io/http01-solver'].orValue('')=='true'&&$shape",
			"$shape", cel(shape))},
		{"solver_before", cel("$recognized&&variables.solver_shape_before&&!variables.solver_shape",
			"$recognized", strconv.FormatBool(len(accounts) > 0))},
		{"solver", "variables.solver_shape&&request.userInfo.?username.orValue('') in " + set(accounts)},
	}
}

// challenge is a condition that the path of an expression is the path of a challenge.
func challenge(path string) string {
	return path + ".matches(" + str(`^/\.well-known/acme-challenge/[A-Za-z0-9_-]+$`) + ")"
}

// ingressSolver is a condition that an Ingress looks like a solver.
func ingressSolver() string {
	return cel(`!has(object.spec.defaultBackend)&&size(object.spec.?tls.orValue([]))==0
		&&size(object.spec.?rules.orValue([]))>0&&object.spec.rules.all(rule,size(rule.?http.?paths.orValue([]))>0
		&&rule.http.paths.all(path,$challenge))`, "$challenge", challenge("path.?path.orValue('')"))
}

// routeSolver is a condition that a route looks like a solver.
func routeSolver() string {
	return cel(`size(object.spec.?rules.orValue([]))>0&&object.spec.rules.all(rule,size(rule.?matches.orValue([]))>0
		&&rule.matches.all(match,match.?path.?type.orValue('')=='Exact'&&$challenge))`,
		"$challenge", challenge("match.?path.?value.orValue('')"))
}

// serviceSolver is a condition that a Service looks like a solver.
const serviceSolver = `object.spec.?type.orValue('') in ['','ClusterIP','NodePort']&&
	size(object.spec.?ports.orValue([]))==1&&object.spec.ports[0].?port.orValue(0)==8089`

// unlessSolver returns checks that skip solvers.
func unlessSolver(checks ...check) []check {
	for i := range checks {
		checks[i].unlessSolvers = true
	}
	return checks
}

// validatedAnnotations is an expression for the sorted keys of annotations. It leaves out the annotations that
// cert-manager adds to a solver.
func validatedAnnotations() string {
	var added []string
	for _, key := range slices.Sorted(maps.Keys(policy.SolverAnnotations())) {
		added = append(added, cel("key==$key&&object.metadata.annotations[key]==$value", "$key", str(key),
			"$value", str(policy.SolverAnnotations()[key])))
	}
	return cel("object.metadata.?annotations.orValue({}).map(key,string(key)).sort()"+
		".filter(key,!(variables.solver&&($added)))", "$added", strings.Join(added, "||"))
}
