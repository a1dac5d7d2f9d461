package deploy

import (
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// WebhookSuffix is the end of the names of Evergate's webhooks.
const WebhookSuffix = ".evergate.dev"

// Target is the server that a webhook calls.
type Target struct {
	Path string
	URL  string // scheme and host; empty if the webhook calls a Service
}

// TargetOf returns the server that the clientConfig of a webhook calls. Its Path is empty if clientConfig does not set
// a path.
func TargetOf(client admissionv1.WebhookClientConfig) Target {
	switch {
	case client.URL != nil:
		u, err := url.Parse(*client.URL)
		if err != nil { // the API server rejects it
			return Target{URL: *client.URL}
		}
		return Target{Path: u.Path, URL: u.Scheme + "://" + u.Host}
	case client.Service != nil && client.Service.Path != nil:
		return Target{Path: *client.Service.Path}
	}
	return Target{}
}

// service returns the namespace and the name of the Service whose DNS name is the host of the URL. ok is false for
// other hosts.
func (t Target) service() (namespace, name string, ok bool) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return "", "", false
	}
	labels := strings.Split(strings.TrimSuffix(u.Hostname(), "."), ".")
	if len(labels) < 3 || labels[2] != "svc" {
		return "", "", false
	}
	return labels[1], labels[0], true
}

// hasCABundle reports whether the webhook has a CA.
func (h *hook) hasCABundle() bool { return len(h.ClientConfig.CABundle) > 0 }

// onlyURLs reports whether every Evergate webhook in a configuration calls a URL.
func (c *cluster) onlyURLs(config apiObject) bool {
	return !slices.ContainsFunc(c.hooks, func(h *hook) bool { return h.config == config && h.target().URL == "" })
}

// namespaceOfHooks returns the namespace that Evergate runs in. It is the namespace of the first Service that a
// webhook calls, by reference or by the name of the Service in a URL. If webhooks call only other URLs, it is the
// namespace of the first Deployment that runs evergate serve, or "" if the input does not have such a Deployment.
func (c *cluster) namespaceOfHooks() string {
	for _, h := range c.hooks {
		if s := h.ClientConfig.Service; s != nil {
			return s.Namespace
		}
	}
	for _, h := range c.hooks {
		if namespace, _, ok := h.target().service(); ok {
			return namespace
		}
	}
	for _, d := range c.deployments {
		if Serves(d) {
			return d.Namespace
		}
	}
	return ""
}
