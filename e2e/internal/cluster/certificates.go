package cluster

import (
	"encoding/json"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Renew makes cert-manager issue a new certificate immediately, like "cmctl renew", and returns when it is issued.
func (c *Cluster) Renew(t testing.TB, namespace, certificate string) {
	t.Helper()
	was := c.certificate(t, namespace, certificate)
	var conditions []cmapi.CertificateCondition
	for _, condition := range was.Status.Conditions {
		if condition.Type != cmapi.CertificateConditionIssuing {
			conditions = append(conditions, condition)
		}
	}
	now := metav1.Now()
	conditions = append(conditions, cmapi.CertificateCondition{
		Type: cmapi.CertificateConditionIssuing, Status: cmmeta.ConditionTrue, LastTransitionTime: &now,
		Reason: "ManuallyTriggered", Message: "a test needs a new certificate", ObservedGeneration: was.Generation,
	})
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	if err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, "", "-n", namespace, "patch", "certificate", certificate, "--subresource=status", "--type=merge",
		"-p", string(patch))
	c.await(t, "certificate "+certificate+" of a new revision", time.Minute, func() bool {
		is := c.certificate(t, namespace, certificate)
		return is.Status.Revision != nil && (was.Status.Revision == nil || *is.Status.Revision > *was.Status.Revision)
	})
}

func (c *Cluster) certificate(t testing.TB, namespace, name string) *cmapi.Certificate {
	t.Helper()
	certificate := new(cmapi.Certificate)
	out := c.Kubectl(t, "", "-n", namespace, "get", "certificate", name, "-o", "json")
	if err := json.Unmarshal([]byte(out), certificate); err != nil {
		t.Fatal(err)
	}
	return certificate
}
