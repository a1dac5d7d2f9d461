package kit

import (
	"path/filepath"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// BenchmarkWorkloads measures the cost of the webhooks for workloads: the median time in which the API server admits a
// Deployment, with and without them. For comparison, it measures a ConfigMap, for which no webhook is called, and a
// Pod, which has other webhooks. The product serves them. -benchtime is the number of objects of each kind: 4000x.
func BenchmarkWorkloads(b *testing.B) {
	c := start(b)
	c.kubectl(b, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.serve(b, build(b), policyFile(b, servedPolicy))
	c.createNamespace(b, "team", map[string]string{optIn: "enabled"})
	all := c.validating(b).Webhooks
	without := slices.DeleteFunc(slices.Clone(all), func(w admissionv1.ValidatingWebhook) bool {
		return slices.Contains([]string{workloads, cronJobs, podTemplates}, w.Name)
	})
	b.ReportMetric(float64(len(all)-len(without)), "webhooks")
	deployment := workloadKinds()[0]
	c.compareWebhooks(b, map[string][]admissionv1.ValidatingWebhook{"with": all, "without": without}, map[string]write{
		"ConfigMap":  createConfigMap("team", "c", dryRun),
		"Pod":        createPod("team", pod("", mirrored), dryRun),
		"Deployment": deployment.create("team", "w", "?dryRun=All"),
	})
}
