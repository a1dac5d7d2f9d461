package policy

import (
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

func TestExternalNames(t *testing.T) {
	const unsafe, rest = `r/externalNames: spec.externalName: `, "; it passes only if externalNames.allowed lists it"
	to := func(name string) object.Service { return object.Service{Type: "ExternalName", ExternalName: name} }
	testServices(t, []serviceCase{
		{"anywhere outside", "externalNames: {}", to("db.example.com"), nil},
		{"another type", "externalNames: {allowed: []}", object.Service{ExternalName: "localhost"}, nil},
		{"allowed", `externalNames: {allowed: ["*.Corp.example."]}`, to("DB.corp.example."), nil},
		{"not allowed", `externalNames: {allowed: ["*.corp.example"]}`, to("a.b.corp.example"), []string{
			`r/externalNames.allowed: spec.externalName: "a.b.corp.example" is not allowed; allowed: *.corp.example`}},
		{"nothing allowed", "externalNames: {allowed: []}", to("a.example.com"), []string{
			`r/externalNames.allowed: spec.externalName: "a.example.com" is not allowed; the policy allows none`}},
		{"denied", `externalNames: {denied: ["**.example"]}`, to("a.b.Example"), []string{
			`r/externalNames.denied: spec.externalName: "a.b.Example" is denied by **.example; write another name`}},
		{"denied although allowed", `externalNames: {allowed: ["**"], denied: [a.example.com]}`, to("a.example.com"), []string{
			`r/externalNames.denied: spec.externalName: "a.example.com" is denied by a.example.com; write another name`}},
		{"localhost", "externalNames: {}", to("LocalHost."), []string{
			unsafe + `"LocalHost." is the client's machine (localhost)` + rest}},
		{"an address", "externalNames: {}", to("192.0.2.7"), []string{unsafe + `"192.0.2.7" is an IP address, not a name` + rest}},
		{"in the cluster", "externalNames: {}", to("db.team-b.svc.cluster.local"), []string{
			unsafe + `"db.team-b.svc.cluster.local" is a name inside the cluster` + rest}},
		{"one label", "externalNames: {}", to("printer"), []string{
			unsafe + `"printer" has only one label, so its meaning depends on the resolver` + rest}},
		{"as long as a name may be", "externalNames: {}", to(strings.Repeat("a.", 123) + "example"), nil},
		{"too long", "externalNames: {}", to(strings.Repeat("a.", 124) + "example"), []string{
			unsafe + `"` + strings.Repeat("a.", 30) + `"… is longer than a host name, which has at most 253 characters` + rest}},
		{"completed", `externalNames: {allowed: ["**"]}`, to("grafana.monitoring"), []string{
			unsafe + `"grafana.monitoring" has two labels and no public top-level domain, so a Pod's search list may turn ` +
				`it into a Service (name.namespace)` + rest}},
		{"of a private domain that is meant", `externalNames: {allowed: ["*.lan"]}`, to("nas.lan"), nil},
		{"in the cloud's network", `externalNames: {allowed: ["**.internal"]}`, to("ip-10-0-0-1.eu-west-1.compute.internal"), []string{
			unsafe + `"ip-10-0-0-1.eu-west-1.compute.internal" is the name of a machine inside the cloud's network` + rest}},
		{"in the cloud's network, and meant", `externalNames: {allowed: ["**.compute.internal"]}`, to("ip-10-0-0-1.eu-west-1.compute.internal"), nil},
		{"metadata", "externalNames: {}", to("169.254.169.254"), []string{
			unsafe + `"169.254.169.254" is the address of a cloud's metadata service` + rest}},
		{"empty", "externalNames: {}", to(""), []string{
			unsafe + `"" has only one label, so its meaning depends on the resolver` + rest}},
		{"unsafe and not meant", `externalNames: {allowed: ["**", "**.local", "**.internal"]}`, to("db.a.svc.cluster.local"), []string{
			unsafe + `"db.a.svc.cluster.local" is a name inside the cluster` + rest}},
		{"one label and not meant", `externalNames: {allowed: ["**"]}`, to("printer"), []string{
			unsafe + `"printer" has only one label, so its meaning depends on the resolver` + rest}},
		{"a number and not meant", `externalNames: {allowed: ["**.254", "**.0"]}`, to("10.0.0.0"), []string{
			unsafe + `"10.0.0.0" is an IP address, not a name` + rest}},
		{"a wildcard is not a name", "externalNames: {}", to("*"), []string{
			unsafe + `"*" has only one label, so its meaning depends on the resolver` + rest}},
		{"unsafe and meant as it is", "externalNames: {allowed: [localhost]}", to("localhost"), nil},
		{"unsafe and meant by a wildcard", `externalNames: {allowed: ["**.svc.cluster.local"]}`, to("db.a.svc.cluster.local"), nil},
		{"unsafe, meant and denied", `externalNames: {allowed: ["**.cluster.local"], denied: [db.a.svc.cluster.local]}`, to("db.a.svc.cluster.local"), []string{
			`r/externalNames.denied: spec.externalName: "db.a.svc.cluster.local" is denied by db.a.svc.cluster.local; write another name`}},
	})
}

// externalNames applies to an XBackend like to a Service of type ExternalName, and no other field applies to it.
func TestXBackends(t *testing.T) {
	const path, rest = `spec.externalHostname.hostname: `, "; it passes only if externalNames.allowed lists it"
	to := func(name string) *object.Service { return &object.Service{ExternalHostname: name} }
	const others = `{types: {denied: [ExternalName]}, hosts: {max: 1}, annotations: {required: [{key: example.com/team}]}}`
	for name, test := range map[string]struct {
		rule string
		obj  *object.Service
		want []string
	}{
		"allowed":          {`{externalNames: {allowed: ["*.corp.example"]}}`, to("db.corp.example"), nil},
		"of selected Pods": {`{externalNames: {allowed: []}}`, to(""), nil},
		"not allowed": {`{externalNames: {allowed: ["*.corp.example"]}}`, to("a.example.com"), []string{
			`r/externalNames.allowed: ` + path + `"a.example.com" is not allowed; allowed: *.corp.example`}},
		"denied": {`{externalNames: {denied: ["**.example.com"]}}`, to("a.example.com"), []string{
			`r/externalNames.denied: ` + path + `"a.example.com" is denied by **.example.com; write another name`}},
		// The schema of XBackend rejects only names that end with .cluster.local.
		"in the cluster": {`{externalNames: {}}`, to("db.team-b.svc"), []string{
			`r/externalNames: ` + path + `"db.team-b.svc" is a name inside the cluster` + rest}},
		"localhost": {`{externalNames: {}}`, to("localhost"), []string{
			`r/externalNames: ` + path + `"localhost" is the client's machine (localhost)` + rest}},
		"metadata": {`{externalNames: {}}`, to("169.254.169.254"), []string{
			`r/externalNames: ` + path + `"169.254.169.254" is the address of a cloud's metadata service` + rest}},
		"other checks": {others, to("169.254.169.254"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, "services:\n- "+strings.Replace(test.rule, "{", "{name: r, mode: enforce, ", 1)+"\n")
			a := object.Attributes{Operation: object.Create, Namespace: "shop", Resource: xBackends}
			equal(t, test.want, sentences(must(Services.Evaluate(p, a, test.obj, nil, nil))))
			// An update is not denied for a name that the XBackend had before.
			a.Operation = object.Update
			for _, f := range must(Services.Evaluate(p, a, test.obj, test.obj, nil)) {
				if f.Denies() {
					t.Error(f)
				}
			}
			if got, want := len(Services.Explain(p, a, test.obj)), strings.Count(test.rule, "externalNames"); got != want {
				t.Errorf("%d rules look at it, want %d", got, want)
			}
		})
	}
	// A Service does not have such a field, so its value has no effect.
	p := mustLoad(t, "services: [{name: r, mode: enforce, externalNames: {allowed: []}}]\n")
	found := must(Services.Evaluate(p, object.Attributes{Operation: object.Create, Resource: "services"}, to("a.example.com"), nil, nil))
	if len(found) > 0 {
		t.Error(sentences(found))
	}
}

func TestExternalNamesErrors(t *testing.T) {
	testErrors(t, "services", servicesRule, map[string]string{
		"externalNames: {denied: []}":                           "externalNames.denied: [] checks nothing: leave the field out",
		`externalNames: {allowed: [a.b.c], denied: ["**.b.c"]}`: "externalNames.allowed: a.b.c is also denied, by **.b.c: no Service can pass by it",
		`externalNames: {allowed: ["https://a.example"]}`:       `externalNames.allowed[0]: "https://a.example" is not a host pattern: leave scheme, port and path out`,
	})
}

func TestKindOf(t *testing.T) {
	for kind, names := range map[targetKind][]string{
		ordinaryTarget: {
			"example.com", "localhost.example.com", "svc.example.com", "a.mycluster.local", "1.2.3.4.example",
			"metadata.example.com", "127.0.0.1.nip.io", "0xg.example.com", "db.corp.internal", "a.b.internal", "x.c.internal", "grafana.dev", "cluster.local.example", "ip6-localhost.example.com",
		},
		metadataTarget: {
			"169.254.169.254", "169.254.170.2", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.16689662", "[fd00:ec2::254]",
			"fd00:ec2::254", "::ffff:169.254.169.254", "fe80::a9fe:a9fe%eth0", "100.100.100.200", "metadata", "metadata.google.internal",
			"instance-data", "instance-data.ec2.internal", "instance-data.eu-west-1.compute.internal", "fd20:ce::254", "168.63.129.16",
		},
		loopbackTarget: {
			"localhost", "a.localhost", "a.b.localhost", "localhost.localdomain", "localhost4.localdomain4", "localhost6.localdomain6",
			"localhost6", "ip6-localhost", "ip6-loopback", "loopback", "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f.1", "0x7f000001",
			"017700000001", "0177.0.0.01", "::1", "[::1]", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "0", "0.0.0.0", "::", "127.255.255.254",
		},
		addressTarget: {
			"192.0.2.7", "3232235777", "0xc0a80101", "2001:db8::1", "[2001:db8::1]", "08.8.8.8", "256.1.1.1", "1.2.3.4.5", "a.example.1",
			"a.0x7f", "99999999999", "0x", "0.8",
		},
		clusterTarget: {
			"a.b.svc", "svc", "cluster.local", "a.b.svc.cluster.local", "10-0-0-1.b.pod.cluster.local", "api.cluster.local", "10-0-0-1.default.pod", "x.y.svc.clusterset.local", "clusterset.local",
		},
		cloudTarget: {
			"ip-10-0-0-1.ec2.internal", "ip-10-0-0-1.eu-west-1.compute.internal", "vm.europe-west1-b.c.project.internal", "vm.c.project.internal",
			"sqladmin.google.internal",
		},
		completedName:   {"kubernetes.default", "grafana.monitoring", "a.example", "mycluster.local", "nas.lan"},
		unqualifiedName: {"", "db", "kubernetes", "ip6-allnodes", "0xg", "local"},
	} {
		for _, name := range names {
			if got := kindOf(name); got != kind {
				t.Errorf("%q: got kind %d, want %d", name, got, kind)
			}
		}
	}
}
