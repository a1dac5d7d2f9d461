package deploy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/admission"
)

// hookPath: webhooks call a path that Evergate serves, of their own kind.
func hookPath() check {
	mutating, validating := servedPaths(true), servedPaths(false)
	return check{
		id: "path", severity: Error,
		finds: "a webhook that calls a path which Evergate does not serve, or no Service",
		why: "every call fails with 404: failing closed, everything that it matches is refused; failing open, " +
			"nothing is checked",
		fix: "set clientConfig.service.path to one of " + strings.Join(mutating, ", ") + " (mutating), " +
			strings.Join(validating, ", ") + " (validating), or to one of the latter and /set/NAME for a set of rules",
		run: func(c *cluster, r *reporter) {
			for _, h := range c.hooks {
				served := validating
				if h.mutating {
					served = mutating
				}
				switch {
				case h.ClientConfig.Service == nil:
					r.error(h.ref,
						"it calls a url and no Service: whether that is up when the cluster is down cannot be known")
				case !slices.Contains(served, h.path()) && (h.mutating || !isSetPath(h.path())):
					r.error(h.ref, "it calls the path %q, which is not served", h.path())
				}
			}
		},
	}
}

// isSetPath reports whether Evergate serves a path as that of a set of rules.
func isSetPath(path string) bool {
	_, set := admission.ParsePath(path)
	return set != ""
}
