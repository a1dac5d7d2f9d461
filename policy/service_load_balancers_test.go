package policy

import (
	"cmp"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

func TestLoadBalancerClass(t *testing.T) {
	const required, allowed = "loadBalancerClass: {required: true}", "loadBalancerClass: {allowed: [a/x, a/y]}"
	lb := func(class string) object.Service {
		return object.Service{Type: "LoadBalancer", LoadBalancerClass: &class}
	}
	testServices(t, []serviceCase{
		{"required and there", required, lb("a/z"), nil},
		{"required and absent", required, object.Service{Type: "LoadBalancer"}, []string{
			"r/loadBalancerClass.required: spec.loadBalancerClass: is required for a LoadBalancer; set it"}},
		{"required and empty", "loadBalancerClass: {required: true, allowed: [a/x, a/y]}", lb(""), []string{
			"r/loadBalancerClass.required: spec.loadBalancerClass: is required for a LoadBalancer; allowed: a/x, a/y"}},
		{"required of load balancers only", required, object.Service{}, nil},
		{"allowed", allowed, lb("a/y"), nil},
		{"absent is allowed", allowed, object.Service{Type: "LoadBalancer"}, nil},
		{"not allowed", allowed, lb("A/x"), []string{
			`r/loadBalancerClass.allowed: spec.loadBalancerClass: "A/x" is not allowed; allowed: a/x, a/y`}},
		{"nothing allowed", "loadBalancerClass: {allowed: []}", lb("a/x"), []string{
			`r/loadBalancerClass.allowed: spec.loadBalancerClass: "a/x" is not allowed; the policy allows none`}},
	})
}

func TestLoadBalancerSourceRanges(t *testing.T) {
	const required, allowed = "loadBalancerSourceRanges: {required: true}", "loadBalancerSourceRanges: {allowed: [10.0.0.0/8]}"
	const annotation = `metadata.annotations["service.beta.kubernetes.io/load-balancer-source-ranges"]`
	lb := func(annotation string, ranges ...string) object.Service {
		s := object.Service{Type: "LoadBalancer", LoadBalancerSourceRanges: ranges}
		if annotation != "" {
			s.Annotations = map[string]string{sourceRangesAnnotation: annotation}
		}
		return s
	}
	missing := []string{"r/loadBalancerSourceRanges.required: spec.loadBalancerSourceRanges: is required for a LoadBalancer; " +
		"list the address ranges that may call it"}
	testServices(t, []serviceCase{
		{"required and there", required, lb("", "0.0.0.0/0"), nil},
		{"required and annotated", required, lb("10.0.0.0/8"), nil},
		{"required and absent", required, lb(""), missing},
		{"required and blank", required, lb("  "), missing},
		{"required of load balancers only", required, object.Service{}, nil},
		{"absent is allowed", allowed, lb(""), nil},
		{"inside", allowed, lb("", " 10.0.0.0/8 ", "10.1.2.3/32", "10.1.2.3/16", "::ffff:10.0.0.0/104"), nil},
		{"annotated inside", allowed, lb(" 10.0.0.0/8 , 10.1.0.0/16"), nil},
		{"outside", allowed, lb("", "10.0.0.0/7", "::/0", "::ffff:0:0/90"), []string{
			`r/loadBalancerSourceRanges.allowed: spec.loadBalancerSourceRanges[0]: "10.0.0.0/7" is not allowed; allowed: 10.0.0.0/8`,
			`r/loadBalancerSourceRanges.allowed: spec.loadBalancerSourceRanges[1]: "::/0" is not allowed; allowed: 10.0.0.0/8`,
			`r/loadBalancerSourceRanges.allowed: spec.loadBalancerSourceRanges[2]: "::ffff:0:0/90" is not allowed; allowed: 10.0.0.0/8`}},
		{"annotated beside a field that is inside", allowed, lb("0.0.0.0/0", "10.0.0.0/8"), []string{
			`r/loadBalancerSourceRanges.allowed: ` + annotation + `: "0.0.0.0/0" is not allowed; allowed: 10.0.0.0/8`}},
		{"as many as are evaluated", allowed, lb(strings.Repeat("10.0.0.0/8,", 4999) + "10.0.0.0/8"), nil},
		{"one more", allowed, lb(strings.Repeat("10.0.0.0/8,", 5000) + "10.0.0.0/8"), []string{
			`r/loadBalancerSourceRanges.allowed: ` + annotation + `: "` + strings.Repeat("10.0.0.0/8,", 6)[:60] +
				`"… is not an address range: it lists more than 5000 ranges`}},
		{"no ranges", allowed, lb("10.0.0.0/8,", "010.0.0.0/8", "10.0.0.1"), []string{
			`r/loadBalancerSourceRanges.allowed: spec.loadBalancerSourceRanges[0]: "010.0.0.0/8" is not an address range: IPv4 field has octet with leading zero`,
			`r/loadBalancerSourceRanges.allowed: spec.loadBalancerSourceRanges[1]: "10.0.0.1" is not an address range: no length such as /24`,
			`r/loadBalancerSourceRanges.allowed: ` + annotation + `: "" is not an address range: unable to parse IP`}},
	})
}

// An annotation with too many ranges takes a limited amount of memory.
// Each row of ClientAnnotations is a finding if it has an effect, and the page of the block lists it.
func TestClientAnnotations(t *testing.T) {
	page := string(readFile(t, "../docs/policy/services.md"))
	var cases []serviceCase
	for _, a := range ClientAnnotations() {
		with := func(kind, value string) object.Service {
			return object.Service{Type: kind, LoadBalancerSourceRanges: []string{"10.1.0.0/16"},
				Meta: object.Meta{Annotations: map[string]string{a.Key: value}}}
		}
		const rule = "loadBalancerSourceRanges: {allowed: [10.0.0.0/8]}"
		finding := []string{"r/loadBalancerSourceRanges.allowed: " + annotationPath(a.Key) + ": lets in clients whose address " +
			"ranges are not known here; remove it, and list ranges in spec.loadBalancerSourceRanges"}
		effective := cmp.Or(strings.ToUpper(a.Value), "x")
		cases = append(cases, serviceCase{a.Key, rule, with("LoadBalancer", " "+effective), finding},
			serviceCase{a.Key + " blank", rule, with("LoadBalancer", " "), nil})
		if a.Value != "" {
			cases = append(cases, serviceCase{a.Key + " other", rule, with("LoadBalancer", "x"), nil})
		}
		word := strings.TrimSuffix(strings.TrimPrefix(a.Key, "service.beta.kubernetes.io/")+": "+a.Value, ": ")
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("docs/policy/services.md does not list `%s`", word)
		}
	}
	testServices(t, cases)
}

func TestManySourceRanges(t *testing.T) {
	svc := &object.Service{Meta: object.Meta{Annotations: map[string]string{sourceRangesAnnotation: strings.Repeat(",", 100_000)}}}
	var r rule.Recorder
	if got := new(viewService(svc)).sourceRanges(&r); len(got) != 1 || cap(got) > maxAnnotationRanges+1 {
		t.Errorf("%d ranges, room for %d", len(got), cap(got))
	}
}

func TestLoadBalancerAnnotations(t *testing.T) {
	const rule = `annotations: {requiredForLoadBalancer: [{key: a/scheme, value: "internal|private"}, {key: a/owner}]}`
	testServices(t, []serviceCase{
		{"another type", rule, object.Service{Type: "NodePort"}, nil},
		{"there", rule, object.Service{Type: "LoadBalancer", Meta: object.Meta{Annotations: map[string]string{"a/scheme": "private", "a/owner": ""}}}, nil},
		{"absent", rule, object.Service{Type: "LoadBalancer"}, []string{
			`r/annotations.requiredForLoadBalancer: metadata.annotations["a/scheme"]: is required; set it to a value that matches internal|private`,
			`r/annotations.requiredForLoadBalancer: metadata.annotations["a/owner"]: is required; set it`}},
		{"other value", rule, object.Service{Type: "LoadBalancer", Meta: object.Meta{Annotations: map[string]string{"a/scheme": "internal ", "a/owner": ""}}}, []string{
			`r/annotations.requiredForLoadBalancer: metadata.annotations["a/scheme"]: "internal " does not match internal|private`}},
	})
}

func TestLoadBalancerErrors(t *testing.T) {
	testErrors(t, "services", servicesRule, map[string]string{
		"loadBalancerClass: {required: false}":                                  "loadBalancerClass: checks nothing: write required: true or allowed",
		"loadBalancerClass: {required: true, allowed: []}":                      "loadBalancerClass: requires a class and does not allow any, so no LoadBalancer passes: write types: {denied: [LoadBalancer]} instead",
		`loadBalancerClass: {allowed: [""]}`:                                    `loadBalancerClass.allowed[0]: "" is not a class: a Service without one passes unless required is true`,
		"loadBalancerSourceRanges: {required: true, allowed: []}":               "loadBalancerSourceRanges: requires a range and does not allow any, so no LoadBalancer passes: write types: {denied: [LoadBalancer]} instead",
		"annotations: {requiredForLoadBalancer: []}":                            "annotations.requiredForLoadBalancer: [] checks nothing: leave the field out",
		"annotations: {denied: []}":                                             "annotations.denied: [] checks nothing: leave the field out",
		`annotations: {denied: ["a/*"], requiredForLoadBalancer: [{key: a/b}]}`: "annotations.requiredForLoadBalancer: a/b is also denied, by a/*: no LoadBalancer can pass",
	})
}
