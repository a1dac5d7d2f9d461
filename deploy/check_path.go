package deploy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
)

// hookPath checks that webhooks call a Service, and a path that Evergate serves for mutating or for validating
// webhooks.
func hookPath() check {
	mutating, validating := servedPaths(true), servedPaths(false)
	return check{
		id: "path", severity: Error,
		finds: "a webhook that calls a path that Evergate does not serve, or a URL instead of a Service",
		why: "every call to a path that is not served fails with 404. If the webhook fails closed, the API server " +
			"rejects every matching request. If it fails open, nothing is checked. API servers resolve the host of a " +
			"URL with the DNS of their node, so preflight cannot check whether the URL reaches Evergate",
		fix: "replace clientConfig.url with clientConfig.service, and set clientConfig.service.path to one of " +
			strings.Join(mutating, ", ") + " (mutating), " + strings.Join(validating, ", ") + " (validating). For " +
			"a rule set, append /set/NAME to a validating path",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				served := validating
				if h.mutating {
					served = mutating
				}
				if !slices.Contains(served, h.path()) && (h.mutating || !isSetPath(h.path())) {
					r.error(h.ref, "it calls the path %q, which is not served", h.path())
				}
			}
			c.reportURLs(r)
		},
	}
}

// reportURLs reports each URL once, for the first webhook that calls it.
func (c *cluster) reportURLs(r *reporter) {
	reported := map[string]bool{}
	for _, h := range c.hooks {
		t := h.target()
		if t.URL == "" || reported[t.URL] {
			continue
		}
		reported[t.URL] = true
		calls := "it calls"
		if n := len(filter(c.hooks, func(h *hook) bool { return h.target().URL == t.URL })); n > 1 {
			calls = fmt.Sprintf("it and %d other webhooks call", n-1)
			if n == 2 {
				calls = "it and another webhook call"
			}
		}
		if namespace, name, ok := t.service(); ok {
			r.error(h.ref, "%s the Service %s/%s by the URL %s: API servers do not look names up in the cluster's DNS",
				calls, namespace, name, t.URL)
		} else {
			r.error(h.ref, "%s the URL %s instead of a Service: preflight cannot check that the URL leads to Evergate, and "+
				"whether it does while the cluster is down", calls, t.URL)
		}
	}
}

// isSetPath reports whether Evergate serves a path as the path of a rule set.
func isSetPath(path string) bool {
	_, set := admission.ParsePath(path)
	return set != ""
}
