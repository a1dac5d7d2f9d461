package equivalence

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// evaluator contains exported policies, compiled in the same way as in the API server. (The API server's function,
// compilePolicy of its two plugins, is not exported.)
type evaluator struct {
	validating []validatingPolicy
	mutating   []mutatingPolicy
}

type validatingPolicy struct {
	admissionv1.ValidatingAdmissionPolicy
	validating.Validator

	actions []admissionv1.ValidationAction
}

type mutatingPolicy struct {
	admissionv1.MutatingAdmissionPolicy

	matcher  matchconditions.Matcher
	compiler *plugincel.CompositedCompiler
	patcher  patch.Patcher
}

// newEvaluator compiles manifests from evergate export.
func newEvaluator(t testing.TB, manifests []byte) *evaluator {
	t.Helper()
	e := &evaluator{}
	actions := map[string][]admissionv1.ValidationAction{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var meta struct{ Kind string }
		if err := yaml.Unmarshal(doc, &meta); err != nil {
			t.Fatal(err)
		}
		switch meta.Kind {
		case "ValidatingAdmissionPolicy":
			p := validatingPolicy{}
			mustUnmarshal(t, doc, &p.ValidatingAdmissionPolicy)
			p.Validator = compileValidating(t, &p.ValidatingAdmissionPolicy)
			e.validating = append(e.validating, p)
		case "ValidatingAdmissionPolicyBinding":
			var b admissionv1.ValidatingAdmissionPolicyBinding
			mustUnmarshal(t, doc, &b)
			actions[b.Spec.PolicyName] = b.Spec.ValidationActions
		case "MutatingAdmissionPolicy":
			p := mutatingPolicy{}
			mustUnmarshal(t, doc, &p.MutatingAdmissionPolicy)
			p.compile(t)
			e.mutating = append(e.mutating, p)
		}
	}
	for i := range e.validating {
		e.validating[i].actions = actions[e.validating[i].Name]
		if len(e.validating[i].actions) == 0 {
			t.Fatalf("%s has no binding", e.validating[i].Name)
		}
	}
	return e
}

func mustUnmarshal(t testing.TB, doc []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(doc, into); err != nil {
		t.Fatal(err)
	}
}

// newCompiler returns a compiler with the variables of a policy. It fails the test if a variable does not compile.
func newCompiler(t testing.TB, policy string, vars []admissionv1.Variable) *plugincel.CompositedCompiler {
	t.Helper()
	c, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vars {
		result := c.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, withAuthorizer(),
			environment.NewExpressions)
		if result.Error != nil {
			t.Fatalf("%s: variable %s: %v\n%s", policy, v.Name, result.Error, v.Expression)
		}
	}
	return c
}

func withAuthorizer() plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
}

// conditions compiles expressions. It fails the test if an expression does not compile.
func conditions(
	t testing.TB, policy string, c *plugincel.CompositedCompiler, all ...plugincel.ExpressionAccessor,
) plugincel.ConditionEvaluator {
	t.Helper()
	evaluator := c.CompileCondition(all, withAuthorizer(), environment.NewExpressions)
	if err := errors.Join(evaluator.CompilationErrors()...); err != nil {
		t.Fatalf("%s: %v", policy, err)
	}
	return evaluator
}

func matcher(
	t testing.TB, policy string, c *plugincel.CompositedCompiler, of []admissionv1.MatchCondition,
) matchconditions.Matcher {
	t.Helper()
	var all []plugincel.ExpressionAccessor
	for i := range of {
		all = append(all, (*matchconditions.MatchCondition)(&of[i]))
	}
	return matchconditions.NewMatcher(conditions(t, policy, c, all...), new(admissionv1.Fail), "policy", "validate",
		policy)
}

func compileValidating(t testing.TB, p *admissionv1.ValidatingAdmissionPolicy) validating.Validator {
	t.Helper()
	c := newCompiler(t, p.Name, p.Spec.Variables)
	var validations, messages []plugincel.ExpressionAccessor
	for _, v := range p.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message,
			Reason: v.Reason})
		if v.MessageExpression == "" {
			messages = append(messages, nil)
			continue
		}
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	return validating.NewValidator(conditions(t, p.Name, c, validations...), matcher(t, p.Name, c, p.Spec.MatchConditions),
		conditions(t, p.Name, c), conditions(t, p.Name, c, messages...), p.Spec.FailurePolicy, nil)
}

func (p *mutatingPolicy) compile(t testing.TB) {
	t.Helper()
	p.compiler = newCompiler(t, p.Name, p.Spec.Variables)
	p.matcher = matcher(t, p.Name, p.compiler, p.Spec.MatchConditions)
	options := withAuthorizer()
	options.HasPatchTypes = true
	result := p.compiler.CompileMutatingEvaluator(
		&patch.JSONPatchCondition{Expression: p.Spec.Mutations[0].JSONPatch.Expression}, options, environment.NewExpressions)
	if err := errors.Join(result.CompilationErrors()...); err != nil {
		t.Fatalf("%s: %v\n%s", p.Name, err, p.Spec.Mutations[0].JSONPatch.Expression)
	}
	p.patcher = patch.NewJSONPatcher(result)
}

// outcome is the result of validations in the API server: the messages of failed validations, by their actions.
type outcome map[admissionv1.ValidationAction][]string

// validate evaluates the policies whose rules match an object.
func (e *evaluator) validate(t testing.TB, a admission.Attributes) outcome {
	t.Helper()
	out := outcome{}
	for i := range e.validating {
		p := &e.validating[i]
		if !matches(p.Spec.MatchConstraints, a) {
			continue
		}
		attributes := versioned(t, a)
		result := p.Validate(context.Background(), a.GetResource(), attributes, nil, nil, celconfig.RuntimeCELCostBudget, nil)
		for _, d := range result.Decisions {
			switch {
			case d.Evaluation == validating.EvalError:
				t.Fatalf("%s: %s\n%v", p.Name, d.Message, a.GetObject())
			case d.Action == validating.ActionDeny:
				for _, action := range p.actions {
					out[action] = append(out[action], d.Message)
				}
			}
		}
	}
	return out
}

// mutate returns an object after the changes of the policies.
func (e *evaluator) mutate(t testing.TB, a admission.Attributes) runtime.Object {
	t.Helper()
	attributes := versioned(t, a)
	for i := range e.mutating {
		p := &e.mutating[i]
		if !matches(p.Spec.MatchConstraints, a) {
			continue
		}
		match := p.matcher.Match(context.Background(), attributes, nil, nil)
		if match.Error != nil {
			t.Fatalf("%s: %v", p.Name, match.Error)
		}
		if !match.Matches {
			continue
		}
		changed, err := p.patcher.Patch(p.compiler.CreateContext(context.Background()), patch.Request{
			MatchedResource: a.GetResource(), VersionedAttributes: attributes, ObjectInterfaces: interfaces(),
		}, celconfig.RuntimeCELCostBudget)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		attributes.UpdateObject(changed)
	}
	return attributes.VersionedObject.Object()
}

func versioned(t testing.TB, a admission.Attributes) *admission.VersionedAttributes {
	t.Helper()
	v, err := admission.NewVersionedAttributes(a, a.GetKind(), interfaces())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func interfaces() admission.ObjectInterfaces {
	return admission.NewObjectInterfacesFromScheme(scheme.Scheme)
}

// matches reports whether the rules of a policy match a request.
func matches(constraints *admissionv1.MatchResources, a admission.Attributes) bool {
	resource := a.GetResource().Resource
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	return slices.ContainsFunc(constraints.ResourceRules, func(r admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(r.Operations, admissionv1.OperationType(a.GetOperation())) &&
			slices.Contains(r.APIGroups, a.GetResource().Group) && (slices.Contains(r.APIVersions, a.GetResource().Version) ||
			slices.Contains(r.APIVersions, "*")) &&
			slices.Contains(r.Resources, resource)
	})
}
