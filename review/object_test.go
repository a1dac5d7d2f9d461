package review

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evergate/evergate/policy/object"
)

func TestParsePod(t *testing.T) {
	for name, test := range map[string]struct {
		obj  string
		want object.Pod
	}{
		"empty": {`{}`, object.Pod{}},
		"null everywhere": {
			`{"metadata":{"name":null,"labels":null,"annotations":null,"ownerReferences":null},"spec":{"containers":null,
			"initContainers":[null,{"name":null,"image":null}],"volumes":[null,{"image":null},{"image":{"reference":null}}]}}`,
			object.Pod{Images: []object.Image{
				{Place: object.InitContainers, Index: 0}, {Place: object.InitContainers, Index: 1},
				{Place: object.Volumes, Index: 2},
			}},
		},
		"null metadata and spec": {`{"metadata":null,"spec":null}`, object.Pod{}},
		"every place, in our order": {
			`{"spec":{"volumes":[{"name":"data","emptyDir":{}},{"image":{"pullPolicy":"Always","reference":"v"},"name":"model"}],
			"ephemeralContainers":[{"image":"e","name":"debug"}],"initContainers":[{"name":"init","image":"i"}],
			"new":[{"image":"no"}],"containers":[{"name":"a","image":"c0"},{"name":"b","env":[{"image":"no"}],"image":"c1"}]}}`,
			object.Pod{Images: []object.Image{
				{Place: object.Containers, Index: 0, Name: "a", Ref: "c0"},
				{Place: object.Containers, Index: 1, Name: "b", Ref: "c1"},
				{Place: object.InitContainers, Index: 0, Name: "init", Ref: "i"},
				{Place: object.EphemeralContainers, Index: 0, Name: "debug", Ref: "e"},
				{Place: object.Volumes, Index: 1, Name: "model", Ref: "v", PullPolicy: "Always"},
			}},
		},
		"metadata": {
			`{"metadata":{"name":"a","generateName":"a-","namespace":"n","labels":{},"annotations":{},"ownerReferences":[
			{"kind":"Node","name":"x"},{"kind":"Job","name":"j","controller":true},
			{"kind":"Job","name":"k","controller":true}]}}`,
			object.Pod{Meta: object.Meta{
				Name: "a", GenerateName: "a-", Namespace: "n", Owner: "Job/j",
				Labels: map[string]string{}, Annotations: map[string]string{},
			}},
		},
		"escapes": {
			`{"metadata":{"annotations":{"\u0061\"b":"\u003c\n\ud83d\ude00é"}},` +
				`"spec":{"containers":[{"im\u0061ge":"\u0061/b"}]}}`,
			object.Pod{
				Meta:   object.Meta{Annotations: map[string]string{`a"b`: "<\n😀é"}},
				Images: []object.Image{{Ref: "a/b"}},
			},
		},
		"not UTF-8": {"{\"metadata\":{\"name\":\"a\xff\xfeb\",\"namespace\":\"\\ud800\"}}",
			object.Pod{Meta: object.Meta{Name: "a\ufffd\ufffdb", Namespace: "\ufffd"}}},
		"case": {
			`{"Metadata":{"name":"x"},"metadata":{"Name":"x"},"spec":{"Containers":[{}],"containers":[{"Image":"x"}]}}`,
			object.Pod{Images: []object.Image{{}}},
		},
		"profiles": {
			`{"spec":{"securityContext":{"seccompProfile":{"oci":{"ref":"p","new":1}}},"containers":[
				{"securityContext":{"seccompProfile":{"oci":{"ref":"a"}},"runAsUser":1},"name":"a"},
				{"securityContext":{"seccompProfile":{"oci":null}}},{"securityContext":null}],
				"initContainers":[{"securityContext":{"seccompProfile":{"oci":{"ref":"i"}}}}],
				"ephemeralContainers":[{"securityContext":{"seccompProfile":{"oci":{"ref":"e"}}}}],
				"volumes":[{"securityContext":{"seccompProfile":{"oci":{"ref":"no"}}}}]}}`,
			object.Pod{Images: []object.Image{
				{Place: object.Containers, Name: "a"}, {Place: object.Containers, Index: 1}, {Place: object.Containers, Index: 2},
				{Place: object.InitContainers}, {Place: object.EphemeralContainers}, {Place: object.PodProfile, Ref: "p"},
				{Place: object.ContainerProfiles, Name: "a", Ref: "a"}, {Place: object.InitContainerProfiles, Ref: "i"},
				{Place: object.EphemeralContainerProfiles, Ref: "e"},
			}},
		},
		"unknown field twice": {`{"new":1,"new":2,"spec":{"new":1,"new":2}}`, object.Pod{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := must(Pods().Parse([]byte(test.obj)))
			// EquateEmpty is not used, because the presence of annotations affects the patch.
			equal(t, &test.want, got)
		})
	}
}

func TestParseIngress(t *testing.T) {
	got, err := Ingresses().Parse([]byte(`{"kind":"Ingress","metadata":{"name":"web","labels":{"a":"b"}},
		"spec":{"ingressClassName":"","defaultBackend":{"service":{"name":"x","port":{"name":"http"}}},
		"rules":[{"host":"a.example","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"path":"no",
		"service":{"name":"s","port":{"number":80}},"resource":{"kind":"Bucket","name":"b"}}},{}]}},
		{"http":null},null],
		"tls":[{"hosts":["a.example",null],"secretName":"s"},{}]},"status":{"rules":[{"host":"no"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &object.Ingress{
		Meta:           object.Meta{Name: "web", Labels: map[string]string{"a": "b"}},
		ClassName:      new(""),
		DefaultBackend: &object.IngressBackend{Service: "x", PortName: "http"},
		Rules: []object.IngressRule{
			{Host: "a.example", Paths: []object.IngressPath{{Path: "/", Type: "Prefix",
				Backend: object.IngressBackend{Service: "s", Port: 80, ResourceKind: "Bucket", ResourceName: "b"}}, {}}}, {}, {},
		},
		TLS: []object.IngressTLS{{Hosts: []string{"a.example", ""}, SecretName: "s"}, {}},
	}
	equal(t, want, got)
	const nulls = `{"spec":{"ingressClassName":null,"defaultBackend":null,"rules":null,"tls":null}}`
	got, err = Ingresses().Parse([]byte(nulls))
	if diff := cmp.Diff(&object.Ingress{}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestParseService(t *testing.T) {
	got, err := Services().Parse([]byte(`{"metadata":{"name":"web"},"spec":{"type":"LoadBalancer","ports":[
		{"name":"http","port":80,"nodePort":30080,"protocol":"UDP","targetPort":"x"},{"port":-0},{"port":-2147483648,"nodePort":2147483647}],
		"externalIPs":["10.0.0.1"],"externalName":"a.example","loadBalancerIP":"10.0.0.2","loadBalancerClass":"x/y",
		"loadBalancerSourceRanges":["10.0.0.0/8"],
		"allocateLoadBalancerNodePorts":false,"healthCheckNodePort":31000}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &object.Service{
		Meta: object.Meta{Name: "web"},
		Type: "LoadBalancer",
		Ports: []object.ServicePort{{Name: "http", Port: 80, NodePort: 30080, Protocol: "UDP"}, {},
			{Port: -2147483648, NodePort: 2147483647}},
		ExternalIPs:                   []string{"10.0.0.1"},
		ExternalName:                  "a.example",
		LoadBalancerClass:             new("x/y"),
		LoadBalancerIP:                "10.0.0.2",
		LoadBalancerSourceRanges:      []string{"10.0.0.0/8"},
		AllocateLoadBalancerNodePorts: new(false),
		HealthCheckNodePort:           31000,
	}
	equal(t, want, got)
	const nulls = `{"spec":{"loadBalancerClass":null,"allocateLoadBalancerNodePorts":null,"ports":[null,{"port":null}]}}`
	got, err = Services().Parse([]byte(nulls))
	want = &object.Service{Ports: make([]object.ServicePort, 2)}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestParseXBackend(t *testing.T) {
	of := Services().Kinds[1].Resource
	got, err := Services().ParseAs(of, []byte(`{"kind":"XBackend","metadata":{"name":"pay"},"spec":{"type":"ExternalHostname",
		"port":{"number":443},"externalHostname":{"hostname":"pay.example","no":1}},"status":{"ancestors":[]}}`))
	want := &object.Service{Meta: object.Meta{Name: "pay"}, Type: "ExternalHostname", ExternalHostname: "pay.example"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	got, err = Services().ParseAs(of, []byte(`{"spec":{"externalHostname":null,"endpointSelector":{"matchLabels":{"a":"b"}}}}`))
	if diff := cmp.Diff(&object.Service{}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestParseCertificate(t *testing.T) {
	got, err := Certificates().Parse([]byte(`{"metadata":{"name":"web"},"spec":{"commonName":"a","literalSubject":"CN=a",
		"dnsNames":["a.example",null],"uris":["https://a"],"ipAddresses":["::1"],"emailAddresses":["no"],
		"otherNames":[{"utf8Value":"no"}],"issuerRef":{"name":"x"}},"status":{"dnsNames":["no"]}}`))
	want := &object.Certificate{
		Meta: object.Meta{Name: "web"}, CommonName: "a", LiteralSubject: "CN=a", DNSNames: []string{"a.example", ""},
		URIs: []string{"https://a"}, IPAddresses: []string{"::1"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestParseDNSEndpoint(t *testing.T) {
	got, err := DNSEndpoints().Parse([]byte(`{"metadata":{"name":"web"},"spec":{"endpoints":[
		{"dnsName":"a.example","targets":["b.example"],"labels":{"dnsName":"no"}},{},null]}}`))
	want := &object.DNSEndpoint{
		Meta: object.Meta{Name: "web"}, Endpoints: []object.Endpoint{{DNSName: "a.example"}, {}, {}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestParseOpenShiftRoute(t *testing.T) {
	for obj, want := range map[string]object.OpenShiftRoute{
		`{"metadata":{"name":"web"},"spec":{"host":"A.example","subdomain":"a","path":"/p","wildcardPolicy":"Subdomain",
		"alternateBackends":[{"kind":"X","name":"no"},{}],"to":{"kind":"Service","name":"no"}},
		"status":{"ingress":[{"host":"no"}]}}`: {
			Meta: object.Meta{Name: "web"}, Host: "A.example", Subdomain: "a", Path: "/p", WildcardPolicy: "Subdomain",
			Backends: []string{"Service", "X", ""},
		},
		`{"spec":{}}`:          {Backends: []string{""}},
		`{"spec":{"to":null}}`: {Backends: []string{""}},
		`{}`:                   {},
	} {
		got, err := OpenShiftRoutes().Parse([]byte(obj))
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Error(obj, err, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	_, err := Pods().Parse([]byte(`{"spec":{"containers":[{"image":5}]}}`))
	wantContentError(t, err, "", "spec.containers[0].image: want a string, got a number")
	_, err = Services().Parse([]byte(`[]`))
	wantContentError(t, err, "", "want an object, got a list")

	for text, want := range map[string]string{
		``:              `empty, want JSON`,
		`{"spec":`:      `not JSON: byte 8: unexpected EOF`,
		`{} {}`:         `something follows the end of the JSON at byte 2`,
		"kind: Ingress": `not JSON: byte 0: invalid character 'k' at start of value`,
	} {
		_, err := Ingresses().Parse([]byte(text))
		var protocol *Error
		if !errors.As(err, &protocol) || protocol.Msg != want {
			t.Errorf("%s: got %T %v, want %s", text, err, err, want)
		}
	}
}

// The type of a path is the text in the field, even if it begins or ends like a known type.
func TestPathTypes(t *testing.T) {
	for text, want := range map[string]string{
		`"Prefix"`: "Prefix", `"Exact"`: "Exact", `"ImplementationSpecific"`: "ImplementationSpecific",
		`"Exac\u0074"`: "Exact", ` "Exact"`: "Exact",
		`"Prefixed"`: "Prefixed", `"Pre"`: "Pre", `"prefix"`: "prefix", `""`: "", `null`: "", `"aExact"`: "aExact",
	} {
		ing, err := Ingresses().Parse([]byte(`{"spec":{"rules":[{"http":{"paths":[{"pathType":` + text + `}]}}]}}`))
		if err != nil || ing.Rules[0].Paths[0].Type != want {
			t.Errorf("%s: %+v %v", text, ing, err)
		}
	}
	if _, err := Ingresses().Parse([]byte(`{"spec":{"rules":[{"http":{"paths":[{"pathType":"Prefix`)); err == nil {
		t.Error("text that ends within the type of a path is accepted as JSON")
	}
}
