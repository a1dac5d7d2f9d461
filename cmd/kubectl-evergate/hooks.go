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

// hook is a webhook of Evergate. Its JSON is part of the status.
type hook struct {
	Name          string                        `json:"name"`
	FailurePolicy admissionv1.FailurePolicyType `json:"failurePolicy"`
	URL           string                        `json:"url,omitempty"`        // if it calls a URL instead of a Service
	CANotAfter    time.Time                     `json:"caNotAfter,omitzero"`  // the latest expiry of its CAs
	Namespaces    *int                          `json:"namespaces,omitempty"` // that it matches; set by match
	FailedOpen    *int                          `json:"failedOpen,omitempty"` // calls since the API server started

	path     string // of the server that it calls
	never    string // the matchCondition that is always false, so the webhook is never called; may be empty
	selector labels.Selector
}

// guardHook is the name of the webhook that matches the ConfigMap of the policy.
const guardHook = "policy.validate" + install.WebhookSuffix

// webhooks are the webhooks of Evergate in a cluster.
type webhooks struct {
	here      []hook   // that call a URL or a Service in Evergate's namespace
	elsewhere []string // the namespaces of the Services that the others call
}

// none reports whether Evergate has no webhooks, for any namespace.
func (w *webhooks) none() bool { return len(w.here)+len(w.elsewhere) == 0 }

// readWebhooks returns the webhooks of Evergate, which it recognizes by their names. If the error is not nil, the
// webhooks that could be read are still returned.
func readWebhooks(ctx context.Context, c *live.Cluster) (webhooks, error) {
	var all []admissionv1.MutatingWebhook
	configs := c.Client.AdmissionregistrationV1()
	mutating, errMutating := configs.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if errMutating == nil {
		for _, config := range mutating.Items {
			all = append(all, config.Webhooks...)
		}
	}
	validating, errValidating := configs.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if errValidating == nil {
		for _, config := range validating.Items {
			for i := range config.Webhooks {
				all = append(all, install.AsMutating(&config.Webhooks[i]))
			}
		}
	}
	var found webhooks
	for i := range all {
		switch s := all[i].ClientConfig.Service; {
		case !strings.HasSuffix(all[i].Name, install.WebhookSuffix):
		case s == nil || s.Namespace == c.Namespace: // a URL does not contain the namespace
			found.here = append(found.here, newHook(&all[i]))
		case !slices.Contains(found.elsewhere, s.Namespace):
			found.elsewhere = append(found.elsewhere, s.Namespace)
		}
	}
	return found, errors.Join(errMutating, errValidating)
}

func newHook(w *admissionv1.MutatingWebhook) hook {
	path, url := install.TargetOf(w.ClientConfig)
	h := hook{
		Name: w.Name, FailurePolicy: *cmp.Or(w.FailurePolicy, new(admissionv1.Fail)), URL: url, path: path,
		never: export.NeverCalled(w.MatchConditions), CANotAfter: lastEnd(w.ClientConfig.CABundle),
	}
	var err error
	if h.selector, err = metav1.LabelSelectorAsSelector(w.NamespaceSelector); err != nil {
		h.selector = labels.Nothing() // the API server does not store invalid selectors
	}
	return h
}

// lastEnd returns the latest expiry of the valid certificates in a bundle.
func lastEnd(bundle []byte) (end time.Time) {
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return end
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && c.NotAfter.After(end) {
			end = c.NotAfter.UTC()
		}
	}
}

// match counts the namespaces that each webhook matches. It returns the namespaces that a webhook other than
// guardHook matches.
func match(hooks []hook, namespaces []corev1.Namespace) (names []string) {
	matched := map[string]bool{}
	for i := range hooks {
		h := &hooks[i]
		h.Namespaces = new(int)
		for j := range namespaces {
			if h.selector.Matches(labels.Set(namespaces[j].Labels)) {
				*h.Namespaces++
				matched[namespaces[j].Name] = matched[namespaces[j].Name] || h.Name != guardHook
			}
		}
	}
	for i := range namespaces {
		if matched[namespaces[i].Name] {
			names = append(names, namespaces[i].Name)
		}
	}
	return names
}
