package deploy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/internal/text"
)

// faultsOfHooks returns the values in a webhook configuration that can be decoded but make the API server reject the
// whole object, in the form: FIELD is VALUE: write …. The same fault in several webhooks is returned once. It returns
// nil for objects of other kinds.
func faultsOfHooks(o apiObject) []string {
	var f hookFaults
	switch c := o.(type) {
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			f.add(i, &c.Webhooks[i])
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := AsMutating(&c.Webhooks[i])
			f.add(i, &w)
		}
	}
	return f.found
}

// maxFaults is how many faults of one object are reported.
const maxFaults = 10

// hookFaults has the faults of the webhooks of a configuration.
type hookFaults struct {
	seen  []string // faults without the index of the webhook
	found []string
}

// add finds the faults of the webhook at an index. sideEffects has a separate check.
func (f *hookFaults) add(i int, w *admissionv1.MutatingWebhook) {
	for _, fault := range []string{
		notOneOf("failurePolicy", w.FailurePolicy, admissionv1.Fail, admissionv1.Ignore),
		notOneOf("matchPolicy", w.MatchPolicy, admissionv1.Equivalent, admissionv1.Exact),
		notOneOf("reinvocationPolicy", w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy,
			admissionv1.IfNeededReinvocationPolicy),
		notClient(w.ClientConfig),
		notSelector("namespaceSelector", w.NamespaceSelector),
		notSelector("objectSelector", w.ObjectSelector),
	} {
		if fault == "" || slices.Contains(f.seen, fault) || len(f.found) == maxFaults {
			continue
		}
		f.seen = append(f.seen, fault)
		f.found = append(f.found, fmt.Sprintf("webhooks[%d].%s", i, fault))
	}
}

// notOneOf returns the problem with a field that is not one of the known values, or "" if it is or is not set.
func notOneOf[T ~string](field string, got *T, known ...T) string {
	if got == nil || slices.Contains(known, *got) {
		return ""
	}
	var names []string
	for _, k := range known {
		names = append(names, string(k))
	}
	return fmt.Sprintf("%s is %s: write %s", field, text.Quote(string(*got)), strings.Join(names, " or "))
}

// notClient returns the problem with the server that a webhook calls, or "".
func notClient(c admissionv1.WebhookClientConfig) string {
	if c.URL == nil {
		return ""
	}
	if c.Service != nil {
		return "clientConfig has both url and service: remove url"
	}
	u, err := url.Parse(*c.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Sprintf("clientConfig.url is %s: write https://HOST/PATH", text.Quote(*c.URL))
	}
	return ""
}

// maxSelectorFault is how many bytes of an error about a selector are shown. It is enough for the value and the
// reason in the API server's error.
const maxSelectorFault = 160

// notSelector returns the problem with a selector, or "".
func notSelector(field string, s *metav1.LabelSelector) string {
	_, err := metav1.LabelSelectorAsSelector(s)
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s cannot be read: %s", field, text.Truncate(err.Error(), maxSelectorFault))
}
