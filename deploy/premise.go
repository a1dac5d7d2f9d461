package deploy

import (
	"slices"
	"strings"
)

// premise is what has to hold for a check to say anything of its own. Where it does not hold, the check would find only
// what follows from that, so that it is not run: one cause is one finding.
type premise struct {
	by    string // the id of the check that reports where it does not hold
	holds func(*cluster) bool
}

// together: evergate serve runs in the namespace whose Service webhooks call, or nowhere.
func together() premise {
	return premise{"deployment", func(c *cluster) bool { return len(c.servers) > 0 || len(c.elsewhere) == 0 }}
}

// coherent: each Deployment selects its own Pods. One that does not is refused, and mostly nothing else selects them.
func coherent() premise {
	return premise{"deployment", func(c *cluster) bool {
		return !slices.ContainsFunc(c.servers, func(s *server) bool { return !s.selectsOwn() })
	}}
}

// selected: a Service that webhooks call selects the Pods of a Deployment. Where it does not, their labels are mostly
// others than everything else knows.
func selected() premise {
	return premise{"service-target", func(c *cluster) bool {
		for _, h := range c.hooks {
			if svc := c.service(h); svc != nil && len(c.servers) > 0 && len(c.behindService(svc)) == 0 {
				return false
			}
		}
		return true
	}}
}

// agreed: the Service and the readiness probe do not agree on a port that is not --listen.
func agreed() premise {
	return premise{"listen-port", func(c *cluster) bool {
		return !slices.ContainsFunc(c.servers, func(s *server) bool { return c.listenElsewhere(s) != nil })
	}}
}

// withinQuota: the API server did not reject a Pod because of a quota.
func withinQuota() premise {
	return premise{"pod-rejected", func(c *cluster) bool {
		return !slices.ContainsFunc(c.dryRuns, func(d DryRun) bool {
			return d.AsController &&
				(strings.Contains(d.Rejected, "exceeded quota") || strings.Contains(d.Rejected, "failed quota"))
		})
	}}
}

// certified: the Secrets with the serving certificates come from somewhere.
func certified() premise {
	return premise{"certificate", func(c *cluster) bool {
		return !slices.ContainsFunc(c.servers, func(s *server) bool { return !c.hasSecret(s) })
	}}
}

// hasSecret reports whether the Secret that a server's --tls-cert lies in is in the input, or a Certificate of it is;
// or whether the flag is not known.
func (c *cluster) hasSecret(s *server) bool {
	if s.settings.TLSCert == "" || !s.settings.Known("tls-cert") {
		return true
	}
	secret := s.tlsSecret()
	return secret != "" && (c.certificate(s.Namespace, secret) != nil || find(c.secrets, s.Namespace, secret) != nil)
}
