package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// servicesRule is a policy of one services entry with the given fields, in one line.
func servicesRule(fields string) string {
	return "services:\n- name: r\n  mode: enforce\n  " + fields + "\n"
}

// serviceCase is a Service and the sentences about it; none if it passes.
type serviceCase struct {
	name string
	rule string
	svc  object.Service
	want []string
}

func testServices(t *testing.T, cases []serviceCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := mustLoad(t, servicesRule(c.rule))
			got := sentences(must(Services.Evaluate(p, object.Attributes{Operation: object.Create}, &c.svc, nil, nil)))
			equal(t, c.want, got)
		})
	}
}

func TestServicesEntryErrors(t *testing.T) {
	const noTemplate = "{namespace} is supported only in hosts.allowed: write the name, or a wildcard"
	testErrors(t, "services", servicesRule, map[string]string{
		"message: none": ": checks nothing: write hosts, types, ports, nodePorts, allocateLoadBalancerNodePorts, " +
			"loadBalancerClass, loadBalancerSourceRanges, loadBalancerIPs, externalIPs, loadBalancerStatus, externalNames or annotations",
		"types: {}":              "types: checks nothing: write allowed or denied",
		"ports: {}":              "ports: allowed is required",
		"nodePorts: {}":          "nodePorts: allowed is required",
		"externalIPs: {}":        "externalIPs: allowed is required",
		"loadBalancerIPs: {}":    "loadBalancerIPs: allowed is required",
		"loadBalancerStatus: {}": "loadBalancerStatus: checks nothing: write allowed, hostnames or writers",
		"loadBalancerStatus: {writers: {users: ['system:serviceaccounts:kube-system'], groups: ['system:serviceaccount:a:b']}}": `loadBalancerStatus.writers.users: "system:serviceaccounts:kube-system" matches no user: it is a group of service accounts; write it in a list of groups, or write system:serviceaccount:NAMESPACE:NAME
p:6:89: services[0].loadBalancerStatus.writers.groups: "system:serviceaccount:a:b" matches no group: it is a service account; write it in a list of users, or write system:serviceaccounts:NAMESPACE`,
		"loadBalancerStatus: {writers: {}}":                          "loadBalancerStatus.writers: has no writers: write users or groups, or deny all with allowed: [] and hostnames: []",
		"loadBalancerClass: {}":                                      "loadBalancerClass: checks nothing: write required: true or allowed",
		"loadBalancerSourceRanges: {}":                               "loadBalancerSourceRanges: checks nothing: write required: true or allowed",
		"annotations: {}":                                            "annotations: checks nothing: write denied, required, requiredForLoadBalancer, values or deniedValues",
		"allocateLoadBalancerNodePorts: nope":                        `allocateLoadBalancerNodePorts: "nope" is not known here: write deny, or leave the field out to allow it`,
		`hosts: {allowed: ["{name}.a.example"]}`:                     `hosts.allowed[0]: "{name}.a.example" is not a host pattern: the only placeholder is {namespace}, as a whole label: *.{namespace}.apps.example.com`,
		`hosts: {denied: ["{namespace}.a.example"]}`:                 `hosts.denied[0]: "{namespace}.a.example" is not a host pattern: ` + noTemplate,
		`externalNames: {allowed: ["{namespace}.a.example"]}`:        `externalNames.allowed[0]: "{namespace}.a.example" is not a host pattern: ` + noTemplate,
		`externalNames: {denied: ["*.{namespace}.a.example"]}`:       `externalNames.denied[0]: "*.{namespace}.a.example" is not a host pattern: ` + noTemplate,
		`loadBalancerStatus: {hostnames: ["{namespace}.a.example"]}`: `loadBalancerStatus.hostnames[0]: "{namespace}.a.example" is not a host pattern: ` + noTemplate,
		"externalIps: {allowed: []}":                                 "externalIps: unknown field; did you mean externalIPs?",
		"types: {denied: [NodePort]}\n  match: {podLabels: [a]}":     "match: podLabels has no meaning here: only mirrors and pods entries match Pods",
	})
}

// All blocks of a rule have findings, in the order of its fields. users and groups may match and exclude.
func TestServicesOrder(t *testing.T) {
	p := mustLoad(t, `
services:
- name: all
  mode: enforce
  message: "ask #network"
  match: {users: ["*"]}
  exclude: {groups: [break-glass]}
  annotations: {denied: ["example.com/*"]}
  externalIPs: {allowed: []}
  loadBalancerSourceRanges: {required: true}
  loadBalancerClass: {required: true}
  allocateLoadBalancerNodePorts: deny
  nodePorts: {allowed: []}
  ports: {allowed: ["443"]}
  types: {denied: [LoadBalancer]}
`)
	svc := object.Service{
		Meta:        object.Meta{Annotations: map[string]string{"example.com/x": "y"}},
		Type:        "LoadBalancer",
		Ports:       []object.ServicePort{{Port: 80, NodePort: 30080}},
		ExternalIPs: []string{"192.0.2.1"},
	}
	var got []string
	for _, f := range must(Services.Evaluate(p, object.Attributes{Operation: object.Create, User: "jane"}, &svc, nil, nil)) {
		got = append(got, f.ID())
		if f.Note != "ask #network" {
			t.Errorf("%s: the message is missing", f.ID())
		}
	}
	want := []string{
		"all/types.denied", "all/ports.allowed", "all/nodePorts.allowed", "all/allocateLoadBalancerNodePorts",
		"all/loadBalancerClass.required", "all/loadBalancerSourceRanges.required", "all/externalIPs.allowed",
		"all/annotations.denied",
	}
	equal(t, want, got)
	if fs := must(Services.Evaluate(p, object.Attributes{Operation: object.Create, User: "jane", Groups: []string{"break-glass"}}, &svc, nil, nil)); fs != nil {
		t.Errorf("excluded, but %v", fs)
	}
}
