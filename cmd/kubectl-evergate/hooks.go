package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/offline/export"
)

// hook is a webhook of Evergate.
type hook struct {
	name      string
	namespace string // of the Service that it calls; empty for a URL
	policy    admissionv1.FailurePolicyType
	path      string // of the server that it calls
	url       string // if it calls a URL instead of a Service
	never     string // the matchCondition that is always false, so the webhook is never called; may be empty
	ca        []*x509.Certificate
	selector  labels.Selector
	matches   int // number of namespaces
}

// guardHook is the name of the webhook that matches the ConfigMap of the policy.
const guardHook = "policy.validate" + install.WebhookSuffix

// readHooks returns the webhooks that call Evergate in its namespace. If the error is not nil, the webhooks that could
// be read are still returned.
func readHooks(ctx context.Context, c *live.Cluster) ([]hook, error) {
	all, err := readAllHooks(ctx, c)
	here, _ := split(all, c.Namespace)
	return here, err
}

// split returns the webhooks that call a URL or a Service in a namespace, and the namespaces of the Services that the
// others call.
func split(all []hook, namespace string) (here []hook, elsewhere []string) {
	for i := range all {
		switch of := all[i].namespace; {
		case of == "" || of == namespace: // a URL does not contain the namespace
			here = append(here, all[i])
		case !slices.Contains(elsewhere, of):
			elsewhere = append(elsewhere, of)
		}
	}
	return here, elsewhere
}

// readAllHooks returns the webhooks of Evergate, which it recognizes by their names. They may call any namespace. If
// the error is not nil, the webhooks that could be read are still returned.
func readAllHooks(ctx context.Context, c *live.Cluster) ([]hook, error) {
	var all []hook
	add := func(w *admissionv1.MutatingWebhook) {
		if strings.HasSuffix(w.Name, install.WebhookSuffix) {
			all = append(all, newHook(w))
		}
	}
	configs := c.Client.AdmissionregistrationV1()
	mutating, errMutating := configs.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if errMutating == nil {
		for _, config := range mutating.Items {
			for i := range config.Webhooks {
				add(&config.Webhooks[i])
			}
		}
	}
	validating, errValidating := configs.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if errValidating == nil {
		for _, config := range validating.Items {
			for i := range config.Webhooks {
				w := install.AsMutating(&config.Webhooks[i])
				add(&w)
			}
		}
	}
	return all, errors.Join(errMutating, errValidating)
}

func newHook(w *admissionv1.MutatingWebhook) hook {
	path, url := install.TargetOf(w.ClientConfig)
	h := hook{
		name: w.Name, policy: *cmp.Or(w.FailurePolicy, new(admissionv1.Fail)), path: path, url: url,
		never: export.NeverCalled(w.MatchConditions), ca: certificates(w.ClientConfig.CABundle),
	}
	if s := w.ClientConfig.Service; s != nil {
		h.namespace = s.Namespace
	}
	var err error
	if h.selector, err = metav1.LabelSelectorAsSelector(w.NamespaceSelector); err != nil {
		h.selector = labels.Nothing() // the API server does not store invalid selectors
	}
	return h
}

// certificates returns the valid certificates in a bundle.
func certificates(bundle []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return all
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, c)
		}
	}
}

// match counts the namespaces that each webhook matches. It returns the namespaces that a webhook other than
// guardHook matches.
func match(hooks []hook, namespaces []corev1.Namespace) []string {
	var names []string
	for i := range namespaces {
		set, matched := labels.Set(namespaces[i].Labels), false
		for j := range hooks {
			h := &hooks[j]
			if h.selector.Matches(set) {
				h.matches++
				matched = matched || h.name != guardHook
			}
		}
		if matched {
			names = append(names, namespaces[i].Name)
		}
	}
	return names
}

// lastEnd returns the latest expiry of the certificates.
func lastEnd(all []*x509.Certificate) time.Time {
	var end time.Time
	for _, c := range all {
		if c.NotAfter.After(end) {
			end = c.NotAfter
		}
	}
	return end
}
