package deploy

import (
	"slices"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
)

// premise is a condition for a check to run. If it does not hold, the check would find only consequences of the same
// problem, so it is not run. One cause is one finding.
type premise struct {
	by    string // the id of the check that reports its cause
	holds func(*cluster) bool
}

// together holds if evergate serve runs in the namespace whose Service webhooks call, or nowhere.
func together() premise {
	return premise{"deployment", func(c *cluster) bool { return len(c.servers) > 0 || len(c.elsewhere) == 0 }}
}

// coherent holds if each Deployment selects its own Pods. The API server rejects other Deployments, and usually
// nothing else selects their Pods.
func coherent() premise {
	return premise{"deployment", func(c *cluster) bool {
		return !slices.ContainsFunc(c.servers, func(s *server) bool { return !s.selectsOwn() })
	}}
}

// selected holds if a Service that webhooks call selects the Pods that a Deployment creates. Otherwise the labels in
// their template usually do not match other selectors either.
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

// agreed holds unless the Service and the readiness probe agree on a port that is not the port of --listen.
func agreed() premise {
	return premise{"listen-port", func(c *cluster) bool {
		return !slices.ContainsFunc(c.servers, func(s *server) bool { return c.listenElsewhere(s) != nil })
	}}
}

// withinQuota holds unless the API server rejected a Pod because of a quota.
func withinQuota() premise {
	return premise{"pod-rejected", func(c *cluster) bool {
		return !slices.ContainsFunc(c.dryRuns, func(d DryRun) bool {
			return d.AsController &&
				(strings.Contains(d.Rejected, "exceeded quota") || strings.Contains(d.Rejected, "failed quota"))
		})
	}}
}

// certified holds if something creates the Secrets with the serving certificates.
func certified() premise {
	return premise{"certificate", func(c *cluster) bool {
		return !slices.ContainsFunc(c.servers, func(s *server) bool { return !c.hasSecret(s) })
	}}
}

// hasOwnCA reports whether cert-manager does not inject the CA of a webhook configuration. This is so if no annotation
// requests it, and if no Certificate issues a Secret that Evergate serves with or all webhooks call URLs, whose
// certificates another CA may have signed.
func (c *cluster) hasOwnCA(config apiObject) bool {
	annotations := config.GetAnnotations()
	if annotations[certmanagerv1.WantInjectAnnotation] != "" ||
		annotations[certmanagerv1.WantInjectFromSecretAnnotation] != "" {
		return false
	}
	if c.onlyURLs(config) {
		return true
	}
	for range c.servingCertificates {
		return false
	}
	return !slices.ContainsFunc(c.hooks, func(h *hook) bool { return h.config == config && !h.hasCABundle() })
}

// hasOnlyOwnCAs reports whether each webhook calls a Service and its manifest contains the CA. See hasOwnCA.
func (c *cluster) hasOnlyOwnCAs() bool {
	return len(c.hooks) > 0 && !slices.ContainsFunc(c.hooks, func(h *hook) bool {
		return !h.hasCABundle() || !c.hasOwnCA(h.config)
	})
}

// hasSecret reports whether the input has the Secret that contains --tls-cert of a server, or a Certificate for it.
// It also returns true if the flag is not known, and for manifests that contain the CA, because another PKI then
// creates the Secret.
func (c *cluster) hasSecret(s *server) bool {
	if s.settings.TLSCert == "" || !s.settings.Known("tls-cert") {
		return true
	}
	secret := s.tlsSecret()
	created := c.certificate(s.Namespace, secret) != nil || find(c.secrets, s.Namespace, secret) != nil
	return secret != "" && (created || !c.live && c.hasOnlyOwnCAs())
}
