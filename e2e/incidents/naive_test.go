package incidents

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/naive"
	"github.com/evergate/evergate/e2e/internal/pki"
)

// another is a namespace that has not opted in and for which the naive webhook is called.
const another = "another"

// naiveLabel is the label by which the naive webhook matches namespaces.
const naiveLabel = "evergate.e2e/naive"

// asked returns the namespace to write to: the product's, or, in a control run, the naive webhook's.
func asked(control bool) string {
	if control {
		return another
	}
	return team
}

// instead serves the naive webhook for a separate namespace, as the control of Evergate's effects on objects. It runs
// on this machine, where the rig's API server can reach it.
func instead(t *testing.T, l *lab) {
	l.NeedRig(t, "has the API server call this machine")
	l.namespace(t, another, "")
	l.Kubectl(t, "", "label", "namespace", another, naiveLabel+"=enabled", "--overwrite")
	ca, err := pki.NewCA("naive")
	must(t, err)
	leaf, err := ca.Leaf("127.0.0.1")
	must(t, err)
	pair, err := tls.X509KeyPair(leaf.Cert, leaf.Key)
	must(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{
		Handler: naive.Handler(".apps.example"), ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
	}
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })

	to := func(path string) admissionv1.WebhookClientConfig {
		url := "https://" + listener.Addr().String() + path
		return admissionv1.WebhookClientConfig{URL: &url, CABundle: ca.PEM}
	}
	ignore, fail, none, seconds := admissionv1.Ignore, admissionv1.Fail, admissionv1.SideEffectClassNone, int32(3)
	only := &metav1.LabelSelector{MatchLabels: map[string]string{naiveLabel: "enabled"}}
	writes := func(group, resource string) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}
	}
	l.webhook(t, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "naive"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "validate.naive.e2e", ClientConfig: to("/validate"), NamespaceSelector: only,
			Rules:         writes("networking.k8s.io", "ingresses"),
			FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		}},
	})
	api := l.api.AdmissionregistrationV1().MutatingWebhookConfigurations()
	t.Cleanup(func() {
		if err := api.Delete(context.WithoutCancel(t.Context()), "naive", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	_, err = api.Create(t.Context(), &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "naive"},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "mutate.naive.e2e", ClientConfig: to("/mutate"), NamespaceSelector: only,
			Rules:         writes("", "pods"),
			FailurePolicy: &ignore, SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	l.await(t, "the naive webhook to be called", time.Minute, func(ctx context.Context) error {
		p, err := l.api.CoreV1().Pods(another).Create(ctx, pod("", written), dryRun)
		if err != nil {
			return err
		}
		if p.Spec.Containers[0].Image == written {
			return errNotRewritten
		}
		return nil
	})
}
