package incidents

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// I8: the certificate was its own CA. At each renewal, the API server trusted the new certificate immediately, while
// the replicas still served the old one.

func TestI8(t *testing.T) {
	const guard = "a separate CA that keeps its key; certificates are loaded while serving"
	t.Run("leaf", func(t *testing.T) {
		try(t, incident{
			id: "I8", what: "the serving certificate is renewed by cert-manager under load", guard: guard, happen: renewLeaf,
			lacking: "a self-signed certificate, which is trusted immediately and replaces the old certificate",
			without: func(t *testing.T, l *lab) {
				l.Install(t, patched(selfSigned))
				l.awaitServed(t)
			},
		})
	})
	t.Run("CA", func(t *testing.T) {
		try(t, incident{
			id: "I8", what: "the CA is renewed with the same key, and then the serving certificate, under load", guard: guard,
			happen: renewCA, // the control run is in leaf
		})
	})
	t.Run("CA, new key", func(t *testing.T) {
		try(t, incident{
			id: "I8", what: "a CA with a new key, by docs/runbooks/certificates.md, under load",
			guard: "cert-manager's injector trusts both CAs until the old CA is removed", happen: replaceCA, // likewise
		})
	})
}

// selfSigned makes the serving certificate sign itself.
const selfSigned = `- target: {kind: Certificate, name: evergate-tls}
  patch: |-
    - {op: replace, path: /spec/issuerRef/name, value: evergate-self-signed}`

func renewLeaf(t *testing.T, l *lab, control bool) outcome {
	tr := l.start(t)
	o := l.renew(t, func() {
		l.Renew(t, system, "evergate-tls")
		if control {
			l.trustOnly(t)
		}
	})
	o.add(tr.stop(t))
	return o
}

func renewCA(t *testing.T, l *lab, _ bool) outcome {
	tr := l.start(t)
	o := l.renew(t, func() {
		l.Renew(t, system, "evergate-ca")
		l.Renew(t, system, "evergate-tls")
	})
	o.add(tr.stop(t))
	return o
}

func replaceCA(t *testing.T, l *lab, _ bool) outcome {
	tr := l.startAPI(t, l.writes(t, team)) // clients of the Service would need the new CA
	o := l.renew(t, func() {
		was := l.secret(t, "evergate-ca").UID
		l.Kubectl(t, "", "-n", system, "delete", "secret", "evergate-ca")
		l.await(t, "a new CA", time.Minute, func(ctx context.Context) error {
			s, err := l.api.CoreV1().Secrets(system).Get(ctx, "evergate-ca", metav1.GetOptions{})
			if err == nil && s.UID == was {
				err = errors.New("it is the old one")
			}
			return err
		})
		l.Kubectl(t, "", "-n", system, "wait", "--for=condition=Ready", "certificate/evergate-ca", "--timeout=1m")
		l.Renew(t, system, "evergate-tls")
	})
	l.trustOnly(t) // the last step of the runbook
	tr.some(t)
	o.add(tr.stop(t))
	return o
}

func (l *lab) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	s, err := l.api.CoreV1().Secrets(system).Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return s
}

// trustOnly makes the API server trust only the CA of the serving certificate in the Secret.
func (l *lab) trustOnly(t *testing.T) {
	t.Helper()
	bundle := base64.StdEncoding.EncodeToString(l.secret(t, "evergate-tls").Data["ca.crt"])
	patch := func(webhooks int) string {
		text := "["
		for i := range webhooks {
			text += fmt.Sprintf(`{"op": "replace", "path": "/webhooks/%d/clientConfig/caBundle", "value": %q},`, i, bundle)
		}
		return text[:len(text)-1] + "]"
	}
	hooks := l.api.AdmissionregistrationV1()
	mutating, err := hooks.MutatingWebhookConfigurations().Get(t.Context(), "evergate", metav1.GetOptions{})
	must(t, err)
	validating, err := hooks.ValidatingWebhookConfigurations().Get(t.Context(), "evergate", metav1.GetOptions{})
	must(t, err)
	l.Kubectl(t, "", "patch", "mutatingwebhookconfiguration", "evergate", "--type=json", "-p",
		patch(len(mutating.Webhooks)))
	l.Kubectl(t, "", "patch", "validatingwebhookconfiguration", "evergate", "--type=json", "-p",
		patch(len(validating.Webhooks)))
}

// renew changes certificates and waits until every replica serves a different certificate than before.
func (l *lab) renew(t *testing.T, do func()) outcome {
	t.Helper()
	before := map[string]float64{}
	for _, p := range l.awaitReplicas(t, 3) {
		expires, err := l.expiry(t.Context(), p.Name)
		must(t, err)
		before[p.Name] = expires
	}
	begun := time.Now()
	do()
	var o outcome
	o.figure("issued after", "%s", time.Since(begun).Round(100*time.Millisecond))
	if !long() { // in the long run, the kubelet is not triggered
		l.refresh(t)
	}
	l.await(t, "every replica to serve the new certificate", 5*time.Minute, func(ctx context.Context) error {
		for name, was := range before {
			is, err := l.expiry(ctx, name)
			if err == nil && is == was {
				err = errors.New(name + " serves the old one")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	o.figure("served by every replica after", "%s", time.Since(begun).Round(time.Second))
	return o
}

// expiry returns when the certificate of a replica expires, in seconds since 1970. Different certificates have
// different expiries.
func (l *lab) expiry(ctx context.Context, replica string) (float64, error) {
	set, err := l.count(ctx, replica)
	if err != nil {
		return 0, err
	}
	return set.Sum("evergate_certificate_not_after_timestamp_seconds", map[string]string{"use": "serving"}), nil
}
