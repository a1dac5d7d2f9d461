package equivalence

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/offline/export"
)

// kubeconfig is the path of a real API server's kubeconfig. Only this test uses the API server, which e2e/kit starts.
var kubeconfig = flag.String("kubeconfig", "", "kubeconfig of the API server for TestServer")

// inForce is how long the API server may take until an applied policy is active. It usually takes seconds.
const inForce = time.Minute

// TestServer creates generated objects on a real API server with the exported policies. Its responses must be the same
// as Evergate's.
func TestServer(t *testing.T) {
	if *kubeconfig == "" {
		t.Skip("-kubeconfig is not set: e2e/kit runs this test with an API server")
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // do not throttle
	s := &server{config: config}
	s.admin = s.client(t, request{user: "admin", groups: []string{"system:masters"}}, rest.NoWarnings{})
	both, vap := []export.Target{export.VAP, export.MAP}, []export.Target{export.VAP}
	for _, kind := range []struct {
		policies map[string]string
		targets  []export.Target
		generate func(*rand.Rand) request
	}{
		{podPolicies(), both, generatePod},
		{servicePolicies(), vap, generateService},
		{ingressPolicies(), vap, generateIngress},
		{routePolicies(), vap, generateRoute},
		{gatewayPolicies(), vap, generateGateway},
	} {
		for name, text := range kind.policies {
			t.Run(name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(6, uint64(len(name))))
				sent := s.valid(t, objects(t)/len(kind.policies), func() request { return kind.generate(r) })
				s.compare(t, newSubject(t, text, export.Options{Targets: kind.targets}), sent)
			})
		}
	}
}

// server is a real API server.
type server struct {
	config *rest.Config
	admin  dynamic.Interface
}

// client returns a client of the user of a request.
func (s *server) client(t testing.TB, r request, w rest.WarningHandler) dynamic.Interface {
	t.Helper()
	config := rest.CopyConfig(s.config)
	config.WarningHandler = w
	config.Impersonate = rest.ImpersonationConfig{UserName: r.user, Groups: r.groups}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// unevaluated is a namespace to which no policy applies.
const unevaluated = "unevaluated"

// sample is an object as it is sent, and as the API server reads it.
type sample struct{ sent, served request }

// valid returns generated objects that the API server accepts if no policy applies.
func (s *server) valid(t *testing.T, n int, generate func() request) []sample {
	t.Helper()
	s.createNamespace(t, unevaluated, "")
	var all []sample
	for range 200 * n { // for some kinds, one object in twenty is valid
		r := generate()
		r.old, r.subresource = nil, ""
		// The API server adds the first group to every user. The second group may create everything.
		r.groups = append(slices.Clone(r.groups), "system:authenticated", "system:masters")
		complete(r.object)
		elsewhere := r
		elsewhere.namespace = unevaluated
		object, _, err := s.create(t, elsewhere)
		switch {
		case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
			continue
		case err != nil:
			t.Fatalf("%s\n%v", r, err)
		}
		served := r
		served.object = asRead(object)
		if all = append(all, sample{r, served}); len(all) == n {
			return all
		}
	}
	t.Fatalf("only %d of %d objects are valid", len(all), 200*n)
	return nil
}

// complete adds fields to an object that the API server requires and that checks do not read.
func complete(object map[string]any) {
	spec, _ := object["spec"].(map[string]any)
	switch object["kind"] {
	case "Service":
		ports, _ := spec["ports"].([]any)
		for i := range ports {
			ports[i].(map[string]any)["name"] = string(rune('a' + i))
		}
	case "Ingress":
		rules, _ := spec["rules"].([]any)
		for _, rule := range rules {
			http, _ := rule.(map[string]any)["http"].(map[string]any)
			paths, _ := http["paths"].([]any)
			for _, p := range paths {
				path := p.(map[string]any)
				path["backend"] = map[string]any{
					"service": map[string]any{"name": "x", "port": map[string]any{"number": 80}},
				}
			}
		}
	}
}

// compare creates objects in a namespace to which the policies apply.
func (s *server) compare(t *testing.T, of *subject, all []sample) {
	t.Helper()
	s.apply(t, of)
	denied, rewritten := 0, 0
	for _, o := range all {
		s.createNamespace(t, o.sent.namespace, "enabled")
		want := of.expected(t, o.served)
		if want.denied != "" {
			denied++
		} else if want.moved {
			rewritten++
		}
		s.await(t, o.sent, want)
	}
	t.Logf("%d objects, %d denied, %d rewritten", len(all), denied, rewritten)
}

// expected is the expected response of the API server.
type expected struct {
	denied   string      // a pattern; empty if the object is not denied
	warnings []string    // patterns
	large    bool        // messages may only say that there are findings: see equal
	pod      *corev1.Pod // nil unless the policy rewrites Pods
	moved    bool        // one of its images is rewritten
}

// expected returns Evergate's decision about a created object.
func (s *subject) expected(t testing.TB, r request) expected {
	t.Helper()
	var want expected
	if len(s.evaluator.mutating) > 0 {
		var pod corev1.Pod
		convert(t, r.object, &pod)
		rw := s.answer(t, r, false).Rewriting
		s.rewrite(t, &pod, rw, "")
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		object := map[string]any{}
		convert(t, pod, &object)
		r.object, want.pod, want.moved = object, &pod, rw.Changes()
	}
	out := s.messages(s.answer(t, r, true).Findings)
	want.denied = strings.Join(out[admissionv1.Deny], "")
	want.warnings, want.large = out[admissionv1.Warn], isLarge(t, r)
	return want
}

// String returns the expectation for the message of a failed test.
func (want expected) String() string {
	if want.pod == nil {
		return fmt.Sprintf("%s %q", want.denied, want.warnings)
	}
	return fmt.Sprintf("%s %q %v %v", want.denied, want.warnings, want.pod.Annotations, want.pod.Spec)
}

// await waits until the API server responds as expected, because policies become active seconds after they are applied.
func (s *server) await(t *testing.T, r request, want expected) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), inForce)
	defer cancel()
	for {
		object, warnings, err := s.create(t, r)
		if want.isAnswer(t, object, warnings, err) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s\nwant %s\ngot  %v %q\n%v", r, want, err, warnings, object)
		}
	}
}

// isAnswer reports whether the response is the expected one.
func (want expected) isAnswer(t testing.TB, object *unstructured.Unstructured, warnings []string, err error) bool {
	t.Helper()
	got := ""
	if err != nil {
		_, got, _ = strings.Cut(err.Error(), " denied request: ")
	}
	listed := func(pattern, got string) bool {
		return want.large && strings.HasPrefix(got, "too many findings to list") || regexp.MustCompile(pattern).MatchString(got)
	}
	// If there are many warnings, each is truncated to 256 characters.
	same := func(pattern, got string) bool { return len(got) >= 256 || listed(pattern, got) }
	if (err != nil) != (want.denied != "") || !listed(want.denied, got) || !slices.EqualFunc(want.warnings, warnings, same) {
		return false
	}
	if err != nil || want.pod == nil {
		return true
	}
	var pod corev1.Pod
	convert(t, object.Object, &pod)
	return reflect.DeepEqual(pod.Spec, want.pod.Spec) && reflect.DeepEqual(pod.Annotations, want.pod.Annotations)
}

// create sends a dry run of a creation and returns the warnings of policies.
func (s *server) create(t testing.TB, r request) (*unstructured.Unstructured, []string, error) {
	t.Helper()
	var said warnings
	gvk := schema.FromAPIVersionAndKind(r.object["apiVersion"].(string), r.object["kind"].(string))
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(marshal(t, r.object)); err != nil {
		t.Fatal(err)
	}
	created, err := s.client(t, r, &said).Resource(gvk.GroupVersion().WithResource(resources()[gvk.Kind])).
		Namespace(r.namespace).Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return created, said, err
}

// warnings contains the warnings of validating policies, without the names of the policy and its binding.
type warnings []string

// HandleWarningHeader stores a warning.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	if rest, ok := strings.CutPrefix(text, "Validation failed for ValidatingAdmissionPolicy "); ok {
		_, rest, _ = strings.Cut(rest, ": ")
		*w = append(*w, rest)
	}
}

// asRead returns an object as the API server has read it, without the fields that it fills in.
func asRead(object *unstructured.Unstructured) map[string]any {
	served := object.Object
	meta, _ := served["metadata"].(map[string]any)
	for _, field := range []string{"uid", "creationTimestamp", "managedFields", "generation", "namespace"} {
		delete(meta, field)
	}
	delete(served, "status")
	return served
}

// createNamespace creates a namespace, if it does not exist, with the label of the webhooks.
func (s *server) createNamespace(t testing.TB, namespace, value string) {
	t.Helper()
	s.applyObject(t, "namespaces", map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": namespace, "labels": map[string]any{"evergate.dev/admission": value}},
	})
}

// apply replaces all policies by the policies of a subject.
func (s *server) apply(t testing.TB, of *subject) {
	t.Helper()
	for _, resource := range []string{"validatingadmissionpolicybindings", "validatingadmissionpolicies",
		"mutatingadmissionpolicybindings", "mutatingadmissionpolicies"} {
		err := s.admin.Resource(admissionv1.SchemeGroupVersion.WithResource(resource)).
			DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(of.manifests)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		object := map[string]any{}
		if err := yaml.Unmarshal(doc, &object); err != nil {
			t.Fatal(err)
		}
		resource := strings.ToLower(object["kind"].(string)) + "s"
		s.applyObject(t, strings.Replace(resource, "policys", "policies", 1), object)
	}
}

func (s *server) applyObject(t testing.TB, resource string, object map[string]any) {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(marshal(t, object)); err != nil {
		t.Fatal(err)
	}
	_, err := s.admin.Resource(u.GroupVersionKind().GroupVersion().WithResource(resource)).
		Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "equivalence", Force: true})
	if err != nil {
		t.Fatal(err)
	}
}
