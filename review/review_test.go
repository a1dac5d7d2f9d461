package review

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review/reviewtest"
)

// creation returns a minimal review of a creation of a Pod, Ingress or Service.
func creation(resource, object string) string {
	kinds := allKinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Resource.Name == resource })
	r := kinds[i].Resource
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",`+
		`"resource":{"group":%q,"version":%q,"resource":%q},"operation":"CREATE","object":%s}}`, r.Group, r.Version, r.Name,
		object)
}

// allKinds returns the kinds that are evaluated.
func allKinds() []Kind {
	return slices.Concat(Pods().Kinds, Ingresses().Kinds, Services().Kinds, Routes().Kinds, OpenShiftRoutes().Kinds,
		Gateways().Kinds, Grants().Kinds, Certificates().Kinds, DNSEndpoints().Kinds)
}

func TestDecodePod(t *testing.T) {
	req := must(Pods().Decode(reviewtest.Update(reviewtest.Pod(2, 1), reviewtest.Pod(1, 0))))
	want := &Request[object.Pod]{
		Head: Head{UID: reviewtest.UID, Attributes: object.Attributes{
			Operation: object.Update,
			Namespace: "team-shop",
			Resource:  "pods",
			User:      "system:serviceaccount:kube-system:replicaset-controller",
			Groups:    []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
		}},
		Object: &object.Pod{
			Meta: object.Meta{
				GenerateName: "shop-5d4f8c7b9-",
				Namespace:    "team-shop",
				Labels:       map[string]string{"app.kubernetes.io/name": "shop", "pod-template-hash": "5d4f8c7b9"},
				Annotations:  map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
				Owner:        "ReplicaSet/shop-5d4f8c7b9",
			},
			Images: []object.Image{
				{Place: object.Containers, Index: 0, Name: "app-00", Ref: "docker.io/acme/shop-00:v1.0.0", PullPolicy: "IfNotPresent"},
				{Place: object.Containers, Index: 1, Name: "app-01", Ref: "docker.io/acme/shop-01:v1.1.0", PullPolicy: "IfNotPresent"},
			},
		},
		Old: &object.Pod{
			Meta: object.Meta{Name: "shop", Namespace: "team-shop", Labels: map[string]string{"app.kubernetes.io/name": "shop"}},
			Images: []object.Image{
				{Place: object.Containers, Index: 0, Name: "app-00", Ref: "docker.io/acme/shop-00:v1.0.0", PullPolicy: "IfNotPresent"},
			},
		},
	}
	equal(t, want, req)
}

func TestDecodeAttributes(t *testing.T) {
	req := must(Pods().Decode([]byte(`{"request": {"oldObject": null, "object": {}, "dryRun": true,
		"userInfo": {"groups": ["devs", null], "username": "alice", "extra": {"username": ["bob"]}},
		"operation": "CREATE", "namespace": "shop", "name": "web", "subResource": "ephemeralcontainers",
		"resource": {"resource": "pods", "version": "v1"}, "uid": "u-1", "UID": "another", "Name": "another"},
		"response": {"uid": "another"}, "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"} ` + "\r\n\t")))
	want := &Request[object.Pod]{
		Head: Head{UID: "u-1", DryRun: true, Attributes: object.Attributes{
			Operation: object.Create, Namespace: "shop", Name: "web", Resource: "pods", Subresource: "ephemeralcontainers",
			User: "alice", Groups: []string{"devs", ""},
		}},
		Object: &object.Pod{},
	}
	equal(t, want, req)
}

func TestDecodeDelete(t *testing.T) {
	req := must(Services().Decode(reviewtest.Delete(reviewtest.Service())))
	if req.Operation != "DELETE" || req.Object != nil || req.Old == nil {
		t.Errorf("operation %s, object %v, old %v", req.Operation, req.Object, req.Old)
	}
}

// Mistakes of the client get a plain HTTP status.
func TestDecodeErrors(t *testing.T) {
	const head = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"`
	request := func(fields string) string { return head + `,"request":{` + fields + `}}` }
	const pods = `"resource":{"group":"","version":"v1","resource":"pods"}`
	for name, test := range map[string]struct{ body, want string }{
		"empty":     {"", `empty, want JSON`},
		"blank":     {" \n", `empty, want JSON`},
		"not JSON":  {`kind: AdmissionReview`, `not JSON: byte 0: invalid character 'k' at start of value`},
		"truncated": {head + `,"request":{"uid":"u-1"`, `not JSON: byte 83: unexpected EOF`},
		"broken object": {creation("pods", `{"spec":{"x":[1,}}`),
			`not JSON: byte 186: invalid character ',' at start of value`},
		"broken number": {creation("pods", `{"spec":{"x":01}}`),
			`not JSON: byte 185: invalid character '1' after object value (expecting ',' or '}')`},
		"garbage after it": {creation("pods", `{}`) + "x", `something follows the end of the JSON at byte 175`},
		"two reviews": {creation("pods", `{}`) + creation("pods", `{}`),
			`something follows the end of the JSON at byte 175`},
		"a list":     {`[]`, `want an object, got a list`},
		"null":       {`null`, `apiVersion is missing, want admission.k8s.io/v1`},
		"no version": {`{"kind":"AdmissionReview"}`, `apiVersion is missing, want admission.k8s.io/v1`},
		"v1beta1": {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{}}`,
			`apiVersion is admission.k8s.io/v1beta1, want admission.k8s.io/v1: ` +
				`set admissionReviewVersions: [v1] in the webhook configuration`},
		"another version":  {`{"apiVersion":"v1","kind":"Pod"}`, `apiVersion is "v1", want admission.k8s.io/v1`},
		"no kind":          {`{"apiVersion":"admission.k8s.io/v1"}`, `kind is missing, want AdmissionReview`},
		"another kind":     {`{"apiVersion":"admission.k8s.io/v1","kind":"Pod"}`, `kind is "Pod", want AdmissionReview`},
		"no request":       {head + `}`, `request is missing`},
		"null request":     {head + `,"request":null}`, `request is missing`},
		"request a string": {head + `,"request":"x"}`, `request: want an object, got a string`},
		"two requests":     {head + `,"request":null,"request":null}`, `request: duplicate key`},
		"no uid":           {request(pods + `,"operation":"CREATE","object":{}`), `request.uid is missing`},
		"uid a number":     {request(`"uid":5`), `request.uid: want a string, got a number`},
		"the longest uid":  {request(`"uid":"` + strings.Repeat("u", 128) + `",` + pods), `request.operation is missing`},
		"a long uid": {request(`"uid":"` + strings.Repeat("u", 129) + `",` + pods),
			`request.uid has 129 bytes: a UUID has 36`},
		"a long resource": {request(`"uid":"u-1","resource":{"resource":"` + strings.Repeat("r", 100) + `"}`),
			`request.resource is ` + strings.Repeat("r", 57) + `…, want pods.v1`},
		"not JSON and long": {head + `,"x":"` + strings.Repeat("x", 1<<20) + `";`, `not JSON`},
		"two uids":          {request(`"uid":"u-1","uid":"u-2",` + pods), `request.uid: duplicate key`},
		"no resource":       {request(`"uid":"u-1"`), `request.resource is missing, want pods.v1`},
		"another resource": {request(`"uid":"u-1","resource":{"group":"apps","version":"v1","resource":"deployments"}`),
			`request.resource is deployments.v1.apps, want pods.v1`},
		"another version 2": {request(`"uid":"u-1","resource":{"group":"","version":"v2","resource":"pods"}`),
			`request.resource is pods.v2, want pods.v1`},
		"no operation": {request(`"uid":"u-1",` + pods), `request.operation is missing`},
		"create no object": {request(`"uid":"u-1","operation":"CREATE","object":null,` + pods),
			`request.object is missing: operation CREATE has one`},
		"update no object": {request(`"uid":"u-1","operation":"UPDATE","oldObject":{},` + pods),
			`request.object is missing: operation UPDATE has one`},
		"update no old": {request(`"uid":"u-1","operation":"UPDATE","object":{},` + pods),
			`request.oldObject is missing: operation UPDATE has one`},
		"object a number": {creation("pods", `5`), `request.object: want an object, got a number`},
		"groups a string": {request(`"uid":"u-1","userInfo":{"groups":"devs"}`),
			`request.userInfo.groups: want a list, got a string`},
		"dryRun a string": {request(`"dryRun":"no"`), `request.dryRun: want true or false, got a string`},
		"uid unknown": {request(`"object":{"metadata":{"name":5}},"uid":5`),
			`metadata.name: want a string, got a number`},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := Pods().Decode([]byte(test.body))
			var protocol *Error
			if req != nil || !errors.As(err, &protocol) {
				t.Fatalf("got %v, %T %v; want an *Error", req, err, err)
			}
			equal(t, &Error{400, test.want}, protocol)
		})
	}
}

func TestDecodeAnotherResource(t *testing.T) {
	for want, decode := range map[string]func([]byte) error{
		"request.resource is services.v1, want ingresses.v1.networking.k8s.io": func(b []byte) error {
			_, err := Ingresses().Decode(b)
			return err
		},
		"request.resource is services.v1, want pods.v1": func(b []byte) error {
			_, err := Pods().Decode(b)
			return err
		},
	} {
		if err := decode([]byte(creation("services", `{}`))); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Services().Decode([]byte(creation("ingresses", `{}`))); err == nil ||
		err.Error() != "request.resource is ingresses.v1.networking.k8s.io, want services.v1 or xbackends.v1alpha1.gateway.networking.x-k8s.io" {
		t.Error(err)
	}
}

// A path may accept reviews of several resources, and no others.
func TestDecodeSeveralResources(t *testing.T) {
	objects := Services()
	objects.Kinds = append(objects.Kinds[:1:1], Kind{"Load", Resource{"x.example", "v1", "loads"}, []string{"v1beta1"}})
	review := func(group, version, resource string) []byte {
		return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",`+
			`"operation":"CREATE","object":{},"resource":{"group":%q,"version":%q,"resource":%q}}}`, group, version, resource)
	}
	for _, k := range objects.Kinds {
		of := k.Resource
		req, err := objects.Decode(review(of.Group, of.Version, of.Name))
		if err != nil || req.Resource != of.Name {
			t.Errorf("%s: %+v, %v", of, req, err)
		}
	}
	for of, want := range map[Resource]string{
		{"x.example", "v1beta1", "loads"}: "request.resource is loads.v1beta1.x.example, " +
			"want services.v1 or loads.v1.x.example",
		{"", "v1", "loads"}: "request.resource is loads.v1, want services.v1 or loads.v1.x.example",
		{}:                  "request.resource is missing, want services.v1 or loads.v1.x.example",
	} {
		if _, err := objects.Decode(review(of.Group, of.Version, of.Name)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	want := []string{"x.example/v1", "x.example/v1beta1"}
	if got := objects.Kinds[1].APIVersions(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Errors in the content of an object cause a denial with the uid of the review.
func TestDecodeContentErrors(t *testing.T) {
	decoders := map[string]func([]byte) error{
		"pods":      func(b []byte) error { _, err := Pods().Decode(b); return err },
		"ingresses": func(b []byte) error { _, err := Ingresses().Decode(b); return err },
		"services":  func(b []byte) error { _, err := Services().Decode(b); return err },
	}
	for name, test := range map[string]struct{ resource, object, want string }{
		"image a number": {"pods", `{"spec":{"containers":[{"image":"a"},{"image":5}]}}`,
			`spec.containers[1].image: want a string, got a number`},
		"image an object": {"pods", `{"spec":{"initContainers":[{"image":{}}]}}`,
			`spec.initContainers[0].image: want a string, got an object`},
		"two images": {"pods", `{"spec":{"containers":[{"image":"a","image":"b"}]}}`,
			`spec.containers[0].image: duplicate key`},
		"the same twice": {"pods", `{"spec":{"containers":[{"image":"a","x":1,"image":"a"}]}}`,
			`spec.containers[0].image: duplicate key`},
		"null and image": {"pods", `{"spec":{"containers":[{"image":null,"\u0069mage":"b"}]}}`,
			`spec.containers[0].image: duplicate key`},
		"escaped first": {"pods", `{"spec":{"containers":[{"\u0069mage":"a","image":"b"}]}}`,
			`spec.containers[0].image: duplicate key`},
		"escaped twice": {"pods", `{"spec":{"containers":[{"\u0069mage":"a","name":"n","\u0069mage":"b"}]}}`,
			`spec.containers[0].image: duplicate key`},
		"two specs": {"pods", `{"spec":{},"metadata":{},"spec":{"containers":[]}}`, `spec: duplicate key`},
		"two labels": {"pods", `{"metadata":{"labels":{"x.io/a":"1","b":"2","x.io/a":"1"}}}`,
			`metadata.labels[x.io/a]: duplicate key`},
		"label a boolean": {"pods", `{"metadata":{"labels":{"a":true}}}`,
			`metadata.labels.a: want a string, got true or false`},
		"a long label": {"pods", `{"metadata":{"labels":{"` + strings.Repeat("x", 100) + `":5}}}`,
			`metadata.labels.` + strings.Repeat("x", 57) + `…: want a string, got a number`},
		"annotations": {"pods", `{"metadata":{"annotations":["a"]}}`, `metadata.annotations: want an object, got a list`},
		"containers":  {"pods", `{"spec":{"containers":{"image":"a"}}}`, `spec.containers: want a list, got an object`},
		"container": {"pods", `{"spec":{"ephemeralContainers":["a"]}}`,
			`spec.ephemeralContainers[0]: want an object, got a string`},
		"image volume": {"pods", `{"spec":{"volumes":[{"image":"a"}]}}`,
			`spec.volumes[0].image: want an object, got a string`},
		"reference": {"pods", `{"spec":{"volumes":[{"image":{"reference":[]}}]}}`,
			`spec.volumes[0].image.reference: want a string, got a list`},
		"controller": {"pods", `{"metadata":{"ownerReferences":[{"controller":"true"}]}}`,
			`metadata.ownerReferences[0].controller: want true or false, got a string`},
		"class": {"ingresses", `{"spec":{"ingressClassName":1}}`,
			`spec.ingressClassName: want a string, got a number`},
		"backend": {"ingresses", `{"spec":{"defaultBackend":"x"}}`,
			`spec.defaultBackend: want an object, got a string`},
		"two backends": {"ingresses", `{"spec":{"defaultBackend":{},"defaultBackend":null}}`,
			`spec.defaultBackend: duplicate key`},
		"path": {"ingresses", `{"spec":{"rules":[{"http":{"paths":[{},{"path":1}]}}]}}`,
			`spec.rules[0].http.paths[1].path: want a string, got a number`},
		"port too large": {"services", `{"spec":{"ports":[{"port":2147483648}]}}`,
			`spec.ports[0].port: want a whole number of 32 bits, got 2147483648`},
		"port a fraction": {"services", `{"spec":{"ports":[{"nodePort":80.0}]}}`,
			`spec.ports[0].nodePort: want a whole number of 32 bits, got 80.0`},
		"port a power": {"services", `{"spec":{"healthCheckNodePort":1e1000000000000000000000}}`,
			`spec.healthCheckNodePort: want a whole number of 32 bits, got 1e100000000000000000`},
		"port a string": {"services", `{"spec":{"ports":[{"port":"80"}]}}`,
			`spec.ports[0].port: want a number, got a string`},
		"allocate": {"services", `{"spec":{"allocateLoadBalancerNodePorts":0}}`,
			`spec.allocateLoadBalancerNodePorts: want true or false, got a number`},
		"external IPs": {"services", `{"spec":{"externalIPs":[["10.0.0.1"]]}}`,
			`spec.externalIPs[0]: want a string, got a list`},
		"too many": {"services", `{"spec":{"ports":[` + strings.Repeat("{},", maxElements) + `{}]}}`,
			`spec.ports[10000]: too large: at most 10000 list elements and map entries of an object are evaluated`},
		"too many labels": {"pods", `{"metadata":{"labels":{` + manyLabels() + `}}}`,
			`metadata.labels.l10000: too large: at most 10000 list elements and map entries of an object are evaluated`},
		"too much text": {"pods", `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", maxText) + `"}}}`,
			`metadata.annotations.a: too large: at most 3 MiB of text of an object are evaluated`},
		"too long a text": {"services", `{"spec":{"externalName":"` + strings.Repeat(`\u003c`, maxText+1) + `"}}`,
			`spec.externalName: too large: at most 3 MiB of text of an object are evaluated`},
	} {
		t.Run(name, func(t *testing.T) {
			wantContentError(t, decoders[test.resource]([]byte(creation(test.resource, test.object))), "u-1", test.want)

			old := strings.Replace(creation(test.resource, test.object), `"object"`, `"object":{},"oldObject"`, 1)
			if err := decoders[test.resource]([]byte(old)); err != nil {
				t.Errorf("the same in the old object: %v", err)
			}
		})
	}
}

func manyLabels() string {
	var b strings.Builder
	for i := range maxElements + 1 {
		fmt.Fprintf(&b, `"l%d":"",`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func wantContentError(t *testing.T, err error, uid, msg string) {
	t.Helper()
	var content *ContentError
	if !errors.As(err, &content) {
		t.Fatalf("got %T %v, want a *ContentError", err, err)
	}
	const large = "MiB of text of an object are evaluated"
	if content.UID != uid || content.Msg != msg || content.Oversized != strings.HasSuffix(msg, large) {
		t.Errorf("got %+v, want uid %q and %s", content, uid, msg)
	}
}

// The uid is found even if it comes after the object.
func TestContentErrorBeforeUID(t *testing.T) {
	_, err := Pods().Decode([]byte(`{"request":{"object":{"spec":{"containers":{}}},"uid":"u-1"}}`))
	wantContentError(t, err, "u-1", "spec.containers: want a list, got an object")
}

// This test uses the deepest object that is accepted, and one level more, at different places.
func TestDecodeDepth(t *testing.T) {
	const deep = `the object is nested more than 10000 levels deep`
	for name, test := range map[string]struct {
		open, shut string
		levels     int // of the review around the repeated part
	}{
		"managedFields":     {`{"metadata":{"managedFields":[{"fieldsV1":%s}]}}`, `{"f:a":%s}`, 6},
		"an unknown field":  {`{"spec":{"containers":[{"image":"a","new":%s}]}}`, `[%s]`, 6},
		"an unknown object": {`{"new":%s}`, `{"f:a/~b":%s}`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			open, shut, _ := strings.Cut(test.shut, "%s")
			nested := func(n int) []byte {
				value := strings.Repeat(open, n) + "1" + strings.Repeat(shut, n)
				return []byte(creation("pods", strings.Replace(test.open, "%s", value, 1)))
			}
			if _, err := Pods().Decode(nested(jsonscan.MaxDepth - test.levels)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := Pods().Decode(nested(jsonscan.MaxDepth - test.levels + 1))
			wantContentError(t, err, "u-1", deep)
			_, err = Pods().Decode(nested(300 * jsonscan.MaxDepth))
			wantContentError(t, err, "u-1", deep)
		})
	}
}

// A Pod that fits into etcd is six times as large after the API server has escaped it. It is evaluated like any other
// Pod.
func TestDecodeEscaped(t *testing.T) {
	const size = 1_300_000
	pod := reviewtest.Pod(1, 0)
	pod.Annotations = map[string]string{"example.com/angles": strings.Repeat("<", size)}
	body := reviewtest.Create(pod)
	if len(body) < 6*size {
		t.Fatalf("the body has %d bytes: it is not escaped", len(body))
	}
	req, err := Pods().Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if got := req.Object.Annotations["example.com/angles"]; got != strings.Repeat("<", size) {
		t.Errorf("the annotation has %d bytes, want %d", len(got), size)
	}
	if len(req.Object.Images) != 1 || req.Object.Images[0].Ref != "docker.io/acme/shop-00:v1.0.0" {
		t.Errorf("images: %+v", req.Object.Images)
	}
}

func TestReadHead(t *testing.T) {
	body := string(reviewtest.Create(reviewtest.Pod(1, 0)))
	req := must(Pods().Decode([]byte(body)))
	want := Head{UID: req.UID, Attributes: req.Attributes}
	want.Resource, want.Group, want.Groups = "", "", nil // these are not read
	for _, prefix := range []string{body, body[:strings.Index(body, `"object":`)]} {
		got, ok := ReadHead([]byte(prefix))
		if diff := cmp.Diff(want, got); diff != "" || !ok || got.Name == "" || got.Namespace == "" || got.User == "" {
			t.Errorf("%d bytes: %s", len(prefix), diff)
		}
	}
	for name, test := range map[string]struct{ prefix, want string }{
		"whole":           {body, reviewtest.UID},
		"first 200 bytes": {body[:200], reviewtest.UID},
		"cut in the uid":  {body[:90], ""},
		"cut after it":    {body[:strings.Index(body, reviewtest.UID)+len(reviewtest.UID)+1], reviewtest.UID},
		"before the kind": {`{"request":{"x":[{"uid":"no"}],"uid":"u\u002d1"`, "u-1"},
		"long":            {`{"request":{"uid":"` + strings.Repeat("x", 128) + `"`, strings.Repeat("x", 128)},
		"longer":          {`{"request":{"uid":"` + strings.Repeat("x", 129) + `"`, ""},
		"not in request":  {`{"uid":"no","response":{"uid":"no"}}`, ""},
		"a number":        {`{"request":{"uid":5}}`, ""},
		"null":            {`{"request":{"uid":null}}`, ""},
		"null request":    {`{"request":null}`, ""},
		"a list":          {`[{"request":{"uid":"no"}}]`, ""},
		"not JSON":        {`{"request":{x:1,"uid":"no"}}`, ""},
		"empty":           {``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ReadHead([]byte(test.prefix))
			if ok != (test.want != "") || ok && got.UID != test.want {
				t.Errorf("got %q, %v; want %q", got.UID, ok, test.want)
			}
		})
	}
}

func ExampleObjects_Decode() {
	body := []byte(`{
		"apiVersion": "admission.k8s.io/v1",
		"kind": "AdmissionReview",
		"request": {
			"uid": "705ab4f5",
			"resource": {"group": "", "version": "v1", "resource": "pods"},
			"namespace": "shop",
			"operation": "CREATE",
			"object": {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "app", "image": "nginx:1.29"}]}}
		}
	}`)
	req, err := Pods().Decode(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := req.Object
	answer := Answer{UID: req.UID, Allowed: true}
	answer.Patch = must(PatchPod(pod, policy.Rewriting{
		Images: []policy.ImageOutcome{{
			Image: pod.Images[0], Outcome: policy.Rewritten, To: "mirror.corp.example/docker.io/library/nginx:1.29",
		}},
	}, true))
	fmt.Println(pod.Images[0].Path(), "is", pod.Images[0].Ref)
	fmt.Println(string(answer.Patch))
	// Output:
	// spec.containers[0].image is nginx:1.29
	// [{"op":"replace","path":"/spec/containers/0/image","value":"mirror.corp.example/docker.io/library/nginx:1.29"}]
}

// equal reports the difference between two values. about precedes it, for example the name of a case.
func equal[T any](t testing.TB, want, got T, about ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprint(about...), diff)
	}
}
