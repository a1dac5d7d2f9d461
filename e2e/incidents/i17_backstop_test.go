package incidents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/evergate/evergate/e2e/internal/crds"
	"github.com/evergate/evergate/e2e/internal/process"
)

// I17: all replicas were dead. Webhooks that fail open admitted everything, and webhooks that fail closed would have
// rejected everything.

func TestI17(t *testing.T) {
	try(t, incident{
		id: "I17", what: "no replica is left, failurePolicy Ignore", guard: "a backstop of native policies",
		happen:  letNothingIn,
		lacking: "no backstop",
		without: func(*testing.T, *lab) {}, // happen creates one
	})
}

// backstopPolicy returns the exported policy: the policy of most incidents, and rules that deny images and routes. The
// replicas do not have these rules, because no replica responds in this test.
func backstopPolicy() string {
	return evilDenied() + `routes:
- {name: team-routes, mode: enforce, kinds: [HTTPRoute], hosts: {allowed: ["*.apps.example"]}}
`
}

// backstop makes the API server enforce the native part of that policy in the namespaces of the webhook for Pods, until
// the test ends.
func (l *lab) backstop(t *testing.T) {
	t.Helper()
	l.exportPolicy(t, backstopPolicy())
	l.bindAsWebhooks(t)
	l.await(t, "the backstop to be active", time.Minute, func(ctx context.Context) error {
		if err := l.createPod(evil)(ctx, team); !denied(err, "evergate-pods-enforce") {
			return fmt.Errorf("a Pod with a denied image: got %w", err)
		}
		if err := l.createService(ctx, team, corev1.ServiceTypeNodePort); !denied(err, "evergate-services-enforce") {
			return fmt.Errorf("a Service of type NodePort: got %w", err)
		}
		return nil
	})
}

// bindAsWebhooks makes the bindings of the backstop match the namespaces of the webhook for Pods.
func (l *lab) bindAsWebhooks(t *testing.T) {
	t.Helper()
	hooks, err := l.api.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "evergate",
		metav1.GetOptions{})
	must(t, err)
	for i := range hooks.Webhooks {
		if hooks.Webhooks[i].Name == "pods.validate.evergate.dev" {
			l.bind(t, hooks.Webhooks[i].NamespaceSelector)
		}
	}
}

// exportPolicy applies the native part of a policy, until the test ends.
func (l *lab) exportPolicy(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	binary, file := filepath.Join(dir, "evergate"), filepath.Join(dir, "policy.yaml")
	must(t, process.Build(t.Context(), l.root(), binary, nil))
	must(t, os.WriteFile(file, []byte(text), 0o600))
	manifests, err := exec.CommandContext(t.Context(), binary, "export", "--target", "vap,map", "--best-effort",
		"--policy", file).Output()
	if len(manifests) == 0 { // exit code 1 means that hosts of Ingresses are left out
		t.Fatal(err)
	}
	l.undo(t, "delete", "validatingadmissionpolicybindings,mutatingadmissionpolicybindings,"+
		"validatingadmissionpolicies,mutatingadmissionpolicies", "-l", "app.kubernetes.io/component=backstop")
	l.Kubectl(t, string(manifests), "apply", "--server-side", "-f", "-")
}

// bind makes the bindings of the backstop match the namespaces of a selector.
func (l *lab) bind(t *testing.T, namespaces *metav1.LabelSelector) {
	t.Helper()
	l.bindKind(t, "validatingadmissionpolicybindings", namespaces)
	l.bindKind(t, "mutatingadmissionpolicybindings", namespaces)
}

// bindKind does the same for the bindings of one kind.
func (l *lab) bindKind(t *testing.T, kind string, namespaces *metav1.LabelSelector) {
	t.Helper()
	// A merge would keep the expressions from evergate export.
	patch, err := json.Marshal([]map[string]any{
		{"op": "add", "path": "/spec/matchResources/namespaceSelector", "value": namespaces},
	})
	must(t, err)
	names := l.Kubectl(t, "", "get", kind, "-l", "app.kubernetes.io/component=backstop", "-o", "name")
	for name := range strings.FieldsSeq(names) {
		l.Kubectl(t, "", "patch", name, "--type=json", "-p", string(patch))
	}
}

const (
	evil      = "quay.io/evil/x:1" // which the policy denies
	elsewhere = "quay.io/a/b:1"    // not from a mirror
)

// createPod returns the creation of a Pod, which returns an error if the Pod is not rewritten.
func (l *lab) createPod(image string) func(context.Context, string) error {
	return func(ctx context.Context, namespace string) error {
		p, err := l.api.CoreV1().Pods(namespace).Create(ctx, pod("", image), dryRun)
		if err == nil && image == written && p.Spec.Containers[0].Image != mirrored {
			err = errors.New("it is admitted as " + p.Spec.Containers[0].Image)
		}
		return err
	}
}

func (l *lab) createIngress(host string, annotations map[string]string) func(context.Context, string) error {
	return func(ctx context.Context, namespace string) error {
		i := ingress("", host)
		i.Annotations = annotations
		_, err := l.api.NetworkingV1().Ingresses(namespace).Create(ctx, i, dryRun)
		return err
	}
}

// httpRoutes returns the resource of HTTPRoutes.
func httpRoutes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
}

// serveRoutes makes the API server serve HTTPRoutes until the test ends. If the cluster already serves them, it changes
// nothing.
func (l *lab) serveRoutes(t *testing.T) {
	t.Helper()
	served, err := l.api.Discovery().ServerResourcesForGroupVersion(httpRoutes().GroupVersion().String())
	if err == nil && slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool {
		return r.Name == httpRoutes().Resource
	}) {
		return
	}
	manifest, err := crds.HTTPRoutes().Read(t.Context())
	must(t, err)
	l.undo(t, "delete", "crd", httpRoutes().GroupResource().String(), "--ignore-not-found")
	l.Kubectl(t, string(manifest), "apply", "--server-side", "-f", "-")
	l.await(t, "HTTPRoutes to be served", time.Minute, func(ctx context.Context) error {
		return l.createRoute("a.apps.example")(ctx, plain)
	})
}

func (l *lab) createRoute(host string) func(context.Context, string) error {
	return func(ctx context.Context, namespace string) error {
		client, err := dynamic.NewForConfig(l.Config())
		if err != nil {
			return err
		}
		route := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": httpRoutes().GroupVersion().String(), "kind": "HTTPRoute",
			"metadata": map[string]any{"generateName": "x-"}, "spec": map[string]any{"hostnames": []any{host}},
		}}
		_, err = client.Resource(httpRoutes()).Namespace(namespace).Create(ctx, route, dryRun)
		return err
	}
}

// denied reports whether an error is the denial of a native policy.
func denied(err error, by string) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+by+"'")
}

// letNothingIn removes every replica, and then makes writes that the policy denies and writes that it allows.
func letNothingIn(t *testing.T, l *lab, control bool) outcome {
	var o outcome
	l.serveRoutes(t)
	if !control {
		begun := time.Now()
		l.backstop(t)
		o.figure("the backstop is active", "%s after the start of its export", time.Since(begun).Round(time.Second))
	}
	l.scaleToZero(t)
	// Only the webhook evaluates hosts of Ingresses, because they may be in annotations that contain JSON.
	l.await(t, "no replica to answer", 2*time.Minute, func(ctx context.Context) error {
		err := l.createIngress("evil.example", nil)(ctx, team)
		if err == nil && control { // with a backstop it is denied in any case
			err = l.createService(ctx, team, corev1.ServiceTypeNodePort)
		}
		return err
	})
	for _, forbidden := range []struct {
		what, by string
		do       func(context.Context, string) error
	}{
		{"a Pod with a denied image", "evergate-pods-enforce", l.createPod(evil)},
		{"an Ingress with a snippet", "evergate-ingresses-enforce", l.createIngress("a.apps.example", map[string]string{
			"nginx.ingress.kubernetes.io/configuration-snippet": "return 200;",
		})},
		{"a Service of type NodePort", "evergate-services-enforce", func(ctx context.Context, ns string) error {
			return l.createService(ctx, ns, corev1.ServiceTypeNodePort)
		}},
		{"an HTTPRoute of a host that is not allowed", "evergate-routes-enforce", l.createRoute("evil.example")},
	} {
		err := forbidden.do(t.Context(), team)
		if !denied(err, forbidden.by) {
			o.breaks("%s: got %v", forbidden.what, err)
		} else {
			o.figure("denied", "%v", err)
		}
		if err := forbidden.do(t.Context(), plain); err != nil {
			o.breaks("%s, in a namespace that has not opted in: %v", forbidden.what, err)
		}
	}
	if err := l.createPod(elsewhere)(t.Context(), strict); err == nil {
		o.breaks("a Pod with an image from outside the mirrors is admitted, although only mirrors are allowed")
	}
	o.add(l.goodPass(t))
	return o
}

// goodPass makes writes that the policy allows, and writes of a control plane.
func (l *lab) goodPass(t *testing.T) outcome {
	t.Helper()
	var o outcome
	for _, namespace := range []string{team, strict} {
		if err := l.createPod(written)(t.Context(), namespace); err != nil {
			o.breaks("a good Pod in %s: %v", namespace, err)
		} else {
			o.figure("a good Pod in "+namespace, "admitted and rewritten to %s", mirrored)
		}
	}
	if err := l.createService(t.Context(), team, corev1.ServiceTypeClusterIP); err != nil {
		o.breaks("a good Service: %v", err)
	}
	if err := l.createIngress("a.apps.example", nil)(t.Context(), team); err != nil {
		o.breaks("a good Ingress: %v", err)
	}
	if err := l.createRoute("a.apps.example")(t.Context(), team); err != nil {
		o.breaks("a good HTTPRoute: %v", err)
	}
	o.add(l.controlPlaneGoesOn(t))
	return o
}
