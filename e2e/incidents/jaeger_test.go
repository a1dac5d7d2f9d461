package incidents

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/tool"
	"github.com/evergate/evergate/e2e/internal/traces"
)

// jaegerIP is the address of the component's Service in the rig, which does not have DNS. The test chooses it.
const jaegerIP = "10.252.0.77"

// TestJaeger installs the component jaeger-v1 as users do. A review is found in this Jaeger by the name of its object,
// and contains the replica that decided it. Jaeger 2 cannot be built from Go modules, and no image can be pulled.
// Except for its container, the component jaeger is the same.
func TestJaeger(t *testing.T) {
	if testing.Short() {
		t.Skip("not an incident: skipped by -short")
	}
	l := open(t)
	l.NeedRig(t, "loads an image of Jaeger")
	l.LoadBinary(t, "docker.io/jaegertracing/all-in-one:1.76.0", tool.Need(t, "jaeger")) // the name in the component
	l.undo(t, "-n", system, "delete", "deployment,service,networkpolicy", "-l", "app.kubernetes.io/name=jaeger")
	l.install(t, cluster.Product{Components: []string{"jaeger-v1"}, Patches: []string{
		"- target: {kind: Service, name: evergate-jaeger}\n  patch: |-\n    - {op: add, path: /spec/clusterIP, value: " +
			jaegerIP + "}",
		"- target: {kind: Deployment, name: evergate}\n  patch: |-\n    - {op: add, path: /spec/template/spec/hostAliases, " +
			"value: [{ip: " +
			jaegerIP + ", hostnames: [evergate-jaeger]}]}",
	}})
	l.Kubectl(t, "", "-n", system, "rollout", "status", "deployment/evergate-jaeger", "--timeout=5m")

	traced := nowhere(pod("traced", written))
	_, err := l.api.CoreV1().Pods(team).Create(t.Context(), traced, metav1.CreateOptions{})
	must(t, err)
	l.undo(t, "-n", team, "delete", "pod", "traced", "--force", "--grace-period=0")
	trace := l.traceOf(t, "/mutate/pods", "traced")
	span := trace.Span(func(s *traces.Span) bool { return s.Tag("url.path") == "/mutate/pods" })
	if span == nil {
		t.Fatalf("the trace has no span of the review: %+v", trace)
	}
	if span.Tag("evergate.outcome") != "rewritten" || span.Tag("evergate.object.namespace") != team {
		t.Errorf("the span of the review is %+v", span)
	}
	replicas := l.awaitReplicas(t, 3)
	if name := trace.Resource(span, "k8s.pod.name"); !slices.ContainsFunc(replicas,
		func(p corev1.Pod) bool { return p.Name == name }) {
		t.Errorf("the name of the replica that decided it is %q", name)
	}
}

// traceOf finds the review of an object on one path in Jaeger, through the API server like kubectl.
func (l *lab) traceOf(t *testing.T, path, object string) *traces.Trace {
	t.Helper()
	client, err := rest.HTTPClientFor(l.Config())
	must(t, err)
	jaeger := traces.Reach(client, l.Config().Host+"/api/v1/namespaces/"+system+"/services/evergate-jaeger:query/proxy")
	search := url.Values{"tags": {`{"evergate.object.name":"` + object + `","url.path":"` + path + `"}`}}
	var found []traces.Trace
	// Spans are exported every five seconds.
	l.await(t, "Jaeger to have the trace", time.Minute, func(ctx context.Context) error {
		var err error
		found, err = jaeger.Find(ctx, "evergate", search)
		if err == nil && len(found) != 1 {
			err = errors.New("there are several")
		}
		return err
	})
	return &found[0]
}
