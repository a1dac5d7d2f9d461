package kit

import (
	"context"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rounds is how often each variant is measured, because a shared machine drifts within a minute.
const rounds = 8

// BenchmarkAbsentKinds measures the cost of webhooks for absent kinds to existing objects: the median time of a
// ConfigMap, for which no webhook is called, and of a Pod, for which all are called, with those webhooks and without
// them. The product rewrites and evaluates the Pods. -benchtime is the number of objects of each kind: 4000x.
func BenchmarkAbsentKinds(b *testing.B) {
	c := start(b)
	k := read(b)
	c.kubectl(b, string(k.render(b, k.add(b, everyHostKind))), "apply", "-f", "-")
	c.serve(b, build(b), policyFile(b, servedPolicy))
	c.createNamespace(b, "team", map[string]string{optIn: "enabled"})
	all := c.validating(b).Webhooks
	served := slices.DeleteFunc(slices.Clone(all), func(w admissionv1.ValidatingWebhook) bool {
		return !slices.Contains([]string{"", "apps", "batch", "networking.k8s.io"}, w.Rules[0].APIGroups[0])
	})
	b.ReportMetric(float64(len(all)-len(served)), "webhooks")
	c.compareWebhooks(b, map[string][]admissionv1.ValidatingWebhook{"with": all, "without": served}, map[string]write{
		"ConfigMap": createConfigMap("team", "c", dryRun), "Pod": createPod("team", pod("", mirrored), dryRun),
	})
}

// compareWebhooks measures the median time of writes with each of several lists of validating webhooks, in turn.
func (c *cluster) compareWebhooks(b *testing.B, variants map[string][]admissionv1.ValidatingWebhook,
	writes map[string]write) {
	b.Helper()
	took := map[string][]time.Duration{}
	for range rounds {
		for name, webhooks := range variants {
			c.putInForce(b, webhooks)
			for range b.N / rounds {
				for kind, do := range writes {
					begin := time.Now()
					must(b, do(b.Context(), c.admin))
					took[kind+"-"+name] = append(took[kind+"-"+name], time.Since(begin))
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op") // of everything together
	for name, d := range took {
		slices.Sort(d)
		b.ReportMetric(float64(d[len(d)/2].Nanoseconds())/1e3, name+"-p50-µs")
	}
}

func (c *cluster) validating(b *testing.B) *admissionv1.ValidatingWebhookConfiguration {
	b.Helper()
	config, err := c.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(b.Context(), "evergate",
		metav1.GetOptions{})
	must(b, err)
	return config
}

// putInForce replaces the validating webhooks, and returns when the API server uses them. It notices configurations in
// the order of their changes, so a later one that denies a ConfigMap shows this.
func (c *cluster) putInForce(b *testing.B, webhooks []admissionv1.ValidatingWebhook) {
	b.Helper()
	api := c.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	config := c.validating(b)
	config.Webhooks = webhooks
	if _, err := api.Update(b.Context(), config, metav1.UpdateOptions{}); err != nil {
		b.Fatal(err)
	}
	nowhere, none := "https://127.0.0.1:1/", admissionv1.SideEffectClassNone
	marker := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "marker"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "marker.test.example", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{URL: &nowhere},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
		}},
	}
	if _, err := api.Create(b.Context(), marker, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	denied := func(ctx context.Context) bool { return createConfigMap("team", "marker", dryRun)(ctx, c.admin) != nil }
	await(b, "the marker is active", denied)
	must(b, api.Delete(b.Context(), "marker", metav1.DeleteOptions{}))
	await(b, "the marker is gone", func(ctx context.Context) bool { return !denied(ctx) })
}
