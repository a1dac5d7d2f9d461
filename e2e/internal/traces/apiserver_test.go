package traces

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evergate/evergate/e2e/internal/controlplane"
	"github.com/evergate/evergate/e2e/internal/tool"
)

// TestAPIServer runs a real API server that sends traces to the same Jaeger. One trace contains its span of the webhook
// call, and below it Evergate's span.
func TestAPIServer(t *testing.T) {
	j := startJaeger(t)
	client, kubectl := startAPIServer(t, j)
	w := serve(t, append(exported("grpc", j.GRPC), "OTEL_BSP_SCHEDULE_DELAY=100"))
	w.install(t, client)
	must(t, until(t.Context(), func() error { // the API server notices its own objects by watching them
		p, err := createPod(t.Context(), client, "early", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && !strings.HasPrefix(p.Spec.Containers[0].Image, "mirror.corp.example/") {
			err = errors.New("no Pod is rewritten")
		}
		return err
	}))
	// As in docs/tracing.md, kubectl prints the ID, and a search for the ID finds the trace.
	said := kubectl(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "team"},
		"spec": {"containers": [{"name": "main", "image": "nginx:1"}]}}`, "create", "-f", "-", "-v=8")
	trace := j.awaitReviews(t, auditID(t, said), "mutating", "validating")
	for kind, want := range map[string]string{"mutating": "rewritten", "validating": "allowed"} {
		call, review := trace.call(kind)
		checkTags(t, review.Tags, map[string]string{
			"evergate.object.name": "web", "evergate.object.namespace": "team",
			"evergate.dry_run": "false", "evergate.outcome": want,
			"evergate.uid": call.Tag("UID"), "user_agent.original": "kube-apiserver-admission",
		})
		for _, stage := range append(trace.Children(review), review) {
			// The last stage, and the review with it, may end after the response was read at the other end.
			last := stage == review || stage.OperationName == "write"
			if stage.StartTime < call.StartTime || stage.StartTime > call.End() || !last && stage.End() > call.End() {
				t.Errorf("%s is not within the call:\n%s", stage.OperationName, trace.tree())
			}
		}
	}
	t.Logf("kubectl create pod, as docs/tracing.md shows it:\n%s", trace.tree())
	w.end(t)
}

// auditID returns the ID in the output of kubectl -v=8, as docs/tracing.md describes it.
func auditID(t *testing.T, said string) string {
	t.Helper()
	id := regexp.MustCompile(`(?m)POST[^ ]* .*namespaces/team/pods(?s:.*)Audit-Id: ([-0-9a-f]+)$`)
	ids := id.FindStringSubmatch(said)
	if ids == nil || !strings.Contains(said, "milliseconds=") {
		t.Fatalf("kubectl does not print the documented output:\n%s", said)
	}
	return ids[1]
}

// startAPIServer runs a control plane that traces all requests to j. kubectl returns the output of the command.
func startAPIServer(t *testing.T, j *Jaeger) (
	client kubernetes.Interface, kubectl func(t *testing.T, stdin string, args ...string) string,
) {
	t.Helper()
	bin, err := controlplane.Find()
	tool.Require(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "tracing.yaml")
	must(t, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1beta1
kind: TracingConfiguration
endpoint: %s
samplingRatePerMillion: 1000000
`, strings.TrimPrefix(j.GRPC, "http://")), 0o600))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	plane, err := controlplane.Start(ctx, bin, dir, "--tracing-config-file="+file)
	t.Cleanup(func() {
		cancel()
		if plane != nil {
			plane.Wait()
		}
	})
	must(t, err)
	client, err = kubernetes.NewForConfig(plane.Admin().Config())
	must(t, err)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	must(t, plane.Admin().WriteKubeconfig(kubeconfig))
	return client, func(t *testing.T, stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), bin.Kubectl(), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+dir)
		cmd.Stdin = strings.NewReader(stdin)
		var said strings.Builder
		cmd.Stderr = &said
		_ = cmd.Run() // the output shows whether it failed
		return said.String()
	}
}

// install creates a namespace, and webhooks that call w for the Pods in it.
func (w *webhook) install(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	_, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	must(t, err)
	config := func(path string) admissionv1.WebhookClientConfig {
		url := "https://" + w.Addr + path
		return admissionv1.WebhookClientConfig{URL: &url, CABundle: w.ca.PEM}
	}
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}}
	none, meta := admissionv1.SideEffectClassNone, metav1.ObjectMeta{Name: "evergate"}
	api := client.AdmissionregistrationV1()
	_, err = api.MutatingWebhookConfigurations().Create(t.Context(), &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "pods.mutate.evergate.dev", ClientConfig: config("/mutate/pods"), Rules: rules,
			SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = api.ValidatingWebhookConfigurations().Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "pods.validate.evergate.dev", ClientConfig: config("/validate/pods"), Rules: rules,
			SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	must(t, err)
}

func createPod(ctx context.Context, client kubernetes.Interface, name string,
	options metav1.CreateOptions) (*corev1.Pod, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1"}}},
	}
	return client.CoreV1().Pods("team").Create(ctx, pod, options)
}

// awaitReviews waits for the trace of the created Pod, with the request, the calls and the reviews. Each process sends
// its own spans, independently of the others.
func (j *Jaeger) awaitReviews(t *testing.T, auditID string, kinds ...string) *Trace {
	t.Helper()
	var trace *Trace
	must(t, until(t.Context(), func() error {
		found, err := j.Find(t.Context(), "apiserver", tagged("audit-id", auditID))
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return fmt.Errorf("%d traces of one request", len(found))
		}
		if trace, err = j.Trace(t.Context(), found[0].TraceID); err != nil {
			return err
		}
		for _, kind := range kinds {
			if _, review := trace.call(kind); review == nil {
				return fmt.Errorf("no review is beneath the call of a %s webhook:\n%s", kind, trace.tree())
			}
		}
		if trace.Span(func(s *Span) bool { return s.OperationName == "Create" && len(trace.ancestors(s)) > 0 }) == nil {
			return fmt.Errorf("the request itself is not there:\n%s", trace.tree())
		}
		return nil
	}))
	return trace
}

// call returns the API server's span of a call to a webhook, mutating or validating, and the review below it.
func (t *Trace) call(kind string) (call, review *Span) {
	call = t.Span(func(s *Span) bool { return s.OperationName == "Call "+kind+" webhook" })
	review = t.Span(func(s *Span) bool {
		return call != nil && t.Service(s) == "evergate" && s.Tag("evergate.uid") != "" &&
			slices.Contains(t.ancestors(s), call)
	})
	return call, review
}

// ancestors returns the ancestors of a span, the nearest first.
func (t *Trace) ancestors(of *Span) []*Span {
	var above []*Span
	for {
		parent := t.Span(func(s *Span) bool { return s.SpanID == of.Parent() })
		if parent == nil {
			return above
		}
		above = append(above, parent)
		of = parent
	}
}

// tree formats a trace like Jaeger, with the start and the duration of each span in milliseconds.
func (t *Trace) tree() string {
	var b strings.Builder
	var add func(*Span, int, int64)
	add = func(s *Span, depth int, begin int64) {
		fmt.Fprintf(&b, "%6.1f %6.2f  %s%s: %s\n", float64(s.StartTime-begin)/1000, float64(s.Duration)/1000,
			strings.Repeat("  ", depth), t.Service(s), s.OperationName)
		children := t.Children(s)
		slices.SortFunc(children, func(a, b *Span) int { return int(a.StartTime - b.StartTime) })
		for _, child := range children {
			add(child, depth+1, begin)
		}
	}
	for i := range t.Spans {
		if s := &t.Spans[i]; len(t.ancestors(s)) == 0 {
			add(s, 0, s.StartTime)
		}
	}
	return b.String()
}
