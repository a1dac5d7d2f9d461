package equivalence

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserver "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// generated is the number of objects that each test generates. The default takes a minute with the race detector.
var generated = flag.Int("objects", 300, "how many objects of each kind to generate")

func objects(testing.TB) int { return *generated }

// request is a request to the API server.
type request struct {
	object, old map[string]any // old is nil if the object is created
	namespace   string
	user        string
	groups      []string
	subresource string
}

// decidedAt is the time of the requests and of the export: 2027-01-15.
func decidedAt() time.Time { return time.Unix(1_800_000_000, 0) }

// subject is a policy in both languages.
type subject struct {
	policy    *policy.Policy
	manifests []byte // the exported manifests
	evaluator *evaluator

	found map[string]bool // the checks with findings

	compared, denied, warned, moved int
}

func newSubject(t testing.TB, text string, o export.Options) *subject {
	t.Helper()
	doc, p := describe(t, text)
	o.Hash, o.Exempt, o.Now = p.Hash(), []string{"evergate-system"}, decidedAt()
	result := export.Export(doc, o)
	for _, r := range result.Omissions {
		t.Error(r)
	}
	manifests, err := export.YAML(result.Objects)
	if err != nil {
		t.Fatal(err)
	}
	return &subject{policy: p, manifests: manifests, evaluator: newEvaluator(t, manifests),
		found: map[string]bool{}}
}

// describe returns a policy as written, and loaded.
func describe(t testing.TB, text string) (policy.Document, *policy.Policy) {
	t.Helper()
	file := policy.File{Name: "policy.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" +
		text)}
	p, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := policy.Describe(file)
	if err != nil {
		t.Fatal(err)
	}
	return doc, p
}

// compareGenerated compares generated objects, the same number for each policy.
func compareGenerated(
	t *testing.T, policies map[string]string, seed uint64, generate func(*rand.Rand) request, targets ...export.Target,
) {
	t.Helper()
	t.Parallel()
	for name, text := range policies {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, text, export.Options{Targets: targets})
			r := rand.New(rand.NewPCG(seed, uint64(len(name))))
			for range objects(t) / len(policies) {
				s.compare(t, generate(r))
				if t.Failed() {
					t.FailNow()
				}
			}
			s.report(t)
		})
	}
}

func (s *subject) report(t testing.TB) {
	t.Helper()
	t.Logf("%d objects, %d denied, %d warned of, %d rewritten", s.compared, s.denied, s.warned, s.moved)
	if s.compared < 200 {
		return
	}
	if s.denied+s.moved == 0 {
		t.Error("no object was denied or rewritten")
	}
	found := map[string]bool{
		"alb__annotations_denied": true, // CEL does not read the hosts in the annotations that it denies
		"one__hosts_allowed":      true, // allows every host
	}
	for check := range s.found {
		name, id, _ := strings.Cut(check, "/")
		found[strings.ReplaceAll(name, "-", "_")+"__"+strings.ReplaceAll(id, ".", "_")] = true
	}
	for _, m := range regexp.MustCompile(`\bname: rule_(\w+)`).FindAllSubmatch(s.manifests, -1) {
		if check := string(m[1]); !found[check] && !strings.HasSuffix(check, "_before") {
			t.Errorf("%s has no finding", check)
		}
	}
}

// compare compares both decisions about an object.
func (s *subject) compare(t testing.TB, r request) {
	t.Helper()
	s.compared++
	attributes := r.attributes(t)
	answer := s.answer(t, r, true)
	want := messages{}
	if called(r) {
		want = s.messages(answer.Findings)
	}
	got := s.evaluator.validate(t, attributes)
	s.denied += len(want[admissionv1.Deny])
	s.warned += len(want[admissionv1.Warn])
	if !equal(want, got, isLarge(t, r)) {
		t.Errorf("%s\nwant %v\ngot  %v", r, want, got)
	}
	if len(s.evaluator.mutating) > 0 {
		s.compareRewriting(t, r)
	}
}

// answer returns Evergate's decision about the object, either unchanged or after its webhooks have rewritten it.
func (s *subject) answer(t testing.TB, r request, existing bool) *admission.Answer {
	t.Helper()
	gvk := schema.FromAPIVersionAndKind(r.object["apiVersion"].(string), r.object["kind"].(string))
	a := object.Attributes{
		Operation: object.Create, Namespace: r.namespace, User: r.user, Groups: r.groups, Subresource: r.subresource,
		Resource: resources()[gvk.Kind],
	}
	var old []byte
	if r.old != nil {
		a.Operation, old = object.Update, marshal(t, r.old)
	}
	for _, k := range admission.KindsIn(s.policy) {
		if k.Name == gvk.Kind && k.Resource.Group == gvk.Group {
			read, err := k.Object(s.policy, a, marshal(t, r.object), old)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := read.Decide(admission.Question{
				Policy: s.policy, Existing: existing, Now: decidedAt(),
			})
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
	}
	t.Fatalf("no kind %s", gvk)
	return nil
}

// messages are patterns of the messages of the API server, by their actions.
type messages map[admissionv1.ValidationAction][]string

// messages returns the patterns of the messages about findings, with the rule, the check and the path of each finding.
func (s *subject) messages(findings []policy.Finding) messages {
	var denied, existing, warned, audited []string
	for _, f := range findings {
		s.found[f.ID()] = true
		switch text := f.ID() + ": " + f.Path + ": "; {
		case f.Denies():
			denied = append(denied, text)
		case f.Mode == policy.Enforce:
			existing = append(existing, text)
		case f.Mode == policy.Warn:
			warned = append(warned, text)
		default:
			audited = append(audited, text)
		}
	}
	out := messages{}
	for _, list := range []struct {
		action admissionv1.ValidationAction
		begins []string
	}{{admissionv1.Deny, denied}, {admissionv1.Warn, existing}, {admissionv1.Warn, warned}, {admissionv1.Audit, audited}} {
		if len(list.begins) > 0 {
			out[list.action] = append(out[list.action], pattern(list.begins))
		}
	}
	return out
}

// pattern returns a regular expression for the message about findings: their number, and the first ten of them.
func pattern(begins []string) string {
	number := ""
	if len(begins) > 1 {
		number = strconv.Itoa(len(begins)) + " findings: "
		if len(begins) == 1000 { // the limit of the webhook
			number = "[0-9]+ findings: "
		}
	}
	quoted := make([]string, min(10, len(begins)))
	for i := range quoted {
		quoted[i] = regexp.QuoteMeta(begins[i])
	}
	return "^" + number + strings.Join(quoted, "(?s:.*?); ")
}

// isLarge reports whether the messages about an object may be longer than 5 KiB, the limit of the API server.
func isLarge(t testing.TB, r request) bool { return len(marshal(t, r.object)) > 2000 }

// equal reports whether messages match patterns. If a large object has findings with long values, messages only say that
// there are findings.
func equal(want messages, got outcome, large bool) bool {
	for _, action := range []admissionv1.ValidationAction{admissionv1.Deny, admissionv1.Warn, admissionv1.Audit} {
		if !slices.EqualFunc(want[action], got[action], func(pattern, message string) bool {
			return large && strings.HasPrefix(message, "too many findings to list") || regexp.MustCompile(pattern).MatchString(message)
		}) {
			return false
		}
	}
	return true
}

// called reports whether a request calls the webhooks of the manifests.
func called(r request) bool {
	if r.old == nil {
		return true
	}
	if r.object["kind"] != "Pod" {
		now, old := r.object["metadata"].(map[string]any), r.old["metadata"].(map[string]any)
		return differ(r.object["spec"], r.old["spec"]) || differ(now["annotations"], old["annotations"]) ||
			differ(now["labels"], old["labels"])
	}
	now, old := r.object["spec"].(map[string]any), r.old["spec"].(map[string]any)
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		if !reflect.DeepEqual(now[list], old[list]) {
			return true
		}
	}
	return false
}

// differ reports whether two fields differ. An empty field is the same as an absent one.
func differ(a, b any) bool {
	of := func(v any) int { m, _ := v.(map[string]any); return len(m) }
	return of(a)+of(b) > 0 && !reflect.DeepEqual(a, b)
}

// compareRewriting compares the images of a Pod after rewriting, the record of the original images, and pull secrets.
func (s *subject) compareRewriting(t testing.TB, r request) {
	t.Helper()
	var want, got corev1.Pod
	convert(t, r.object, &want)
	if called(r) {
		s.rewrite(t, &want, s.answer(t, r, false).Rewriting, r.subresource)
	}
	convert(t, s.evaluator.mutate(t, r.attributes(t)), &got)
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%s\nwant %s\ngot  %s", r, marshal(t, want), marshal(t, got))
	}
}

// rewrite changes a Pod in the same way as Evergate's patch.
func (s *subject) rewrite(t testing.TB, pod *corev1.Pod, rw policy.Rewriting, subresource string) {
	t.Helper()
	if rw.Changes() {
		s.moved++
	}
	for i := range rw.Images {
		out := &rw.Images[i]
		if out.Outcome != policy.Rewritten {
			continue
		}
		switch at := out.Image.Index; out.Image.Place {
		case object.Containers:
			pod.Spec.Containers[at].Image = out.To
		case object.InitContainers:
			pod.Spec.InitContainers[at].Image = out.To
		case object.EphemeralContainers:
			pod.Spec.EphemeralContainers[at].Image = out.To
		case object.Volumes:
			pod.Spec.Volumes[at].Image.Reference = out.To
		}
	}
	if rw.Record != "" && subresource == "" {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[object.OriginalsAnnotation] = rw.Record
	}
	for _, name := range rw.PullSecrets.Added {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
}

func (r request) String() string {
	object, _ := json.Marshal(r.object)
	old, _ := json.Marshal(r.old)
	return fmt.Sprintf("%s in %s by %s\nold %s", object, r.namespace, r.user, old)
}

// attributes returns the request in the form that admission plugins receive.
func (r request) attributes(t testing.TB) apiserver.Attributes {
	t.Helper()
	gvk := schema.FromAPIVersionAndKind(r.object["apiVersion"].(string), r.object["kind"].(string))
	operation, old := apiserver.Create, runtime.Object(nil)
	if r.old != nil {
		operation, old = apiserver.Update, typed(t, gvk, r.old)
	}
	return apiserver.NewAttributesRecord(typed(t, gvk, r.object), old, gvk, r.namespace, "p",
		gvk.GroupVersion().WithResource(resources()[gvk.Kind]),
		r.subresource, operation, nil, false, &user.DefaultInfo{Name: r.user, Groups: r.groups})
}

func resources() map[string]string {
	return map[string]string{
		"Pod": "pods", "Service": "services", "Ingress": "ingresses", "HTTPRoute": "httproutes", "GRPCRoute": "grpcroutes",
		"TLSRoute": "tlsroutes", "TCPRoute": "tcproutes", "UDPRoute": "udproutes", "Gateway": "gateways",
		"ListenerSet": "listenersets", "XListenerSet": "xlistenersets",
	}
}

// typed returns an object in the API server's internal form. Custom resources do not have a type.
func typed(t testing.TB, gvk schema.GroupVersionKind, object map[string]any) runtime.Object {
	t.Helper()
	if strings.HasPrefix(gvk.Group, "gateway.") {
		custom := new(unstructured.Unstructured)
		if err := custom.UnmarshalJSON(marshal(t, object)); err != nil {
			t.Fatal(err)
		}
		return custom
	}
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(marshal(t, object), typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

// withoutNulls returns a custom resource without null fields, which the API server removes.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, value := range v {
			if value != nil {
				kept[key] = withoutNulls(value)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = withoutNulls(v[i])
		}
		return kept
	}
	return v
}

func convert(t testing.TB, from, to any) {
	t.Helper()
	if err := json.Unmarshal(marshal(t, from), to); err != nil {
		t.Fatal(err)
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
