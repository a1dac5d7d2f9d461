package podtemplate

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// crdGroup is the API group of custom resources: a DNS name of at least two labels, in lower case.
type crdGroup string

// UnmarshalText returns an error for groups that are built into Kubernetes and for invalid names.
func (g *crdGroup) UnmarshalText(b []byte) error {
	group := string(b)
	err := match.CheckHostName(group)
	switch {
	case strings.Contains(group, "/"):
		return fmt.Errorf("%s is not the group of custom resources: write the version in versions", text.Quote(b))
	case builtinGroup(group):
		return fmt.Errorf("%s is built into Kubernetes: templates is for custom resources; Deployments, Jobs and "+
			"other Kubernetes workloads are validated without it", text.Quote(b))
	case err != nil:
		return fmt.Errorf("%s is not the group of custom resources: %w", text.Quote(b), err)
	case group != strings.ToLower(group):
		return fmt.Errorf("%s is not the group of custom resources: write it in lower case", text.Quote(b))
	case !strings.Contains(group, "."):
		return fmt.Errorf("%s is not the group of custom resources: it has a dot, as in argoproj.io", text.Quote(b))
	}
	*g = crdGroup(group)
	return nil
}

// builtinGroup reports whether kube-apiserver itself serves a group (v1.36, pkg/apis) or used to serve it.
func builtinGroup(group string) bool {
	switch group {
	case "", "apps", "autoscaling", "batch", "extensions", "policy",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps.k8s.io",
		"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io",
		"events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
		"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
		"storagemigration.k8s.io":
		return true
	}
	return false
}

// evaluatedByBlock returns the policy block that evaluates a custom resource, or an empty string.
func evaluatedByBlock(name string) string {
	switch name {
	case "routes.route.openshift.io", "httproutes.gateway.networking.k8s.io", "grpcroutes.gateway.networking.k8s.io",
		"tlsroutes.gateway.networking.k8s.io", "tcproutes.gateway.networking.k8s.io",
		"udproutes.gateway.networking.k8s.io":
		return "routes"
	case "gateways.gateway.networking.k8s.io", "listenersets.gateway.networking.k8s.io",
		"xlistenersets.gateway.networking.x-k8s.io":
		return "gateways"
	case "xbackends.gateway.networking.x-k8s.io":
		return "services"
	case "referencegrants.gateway.networking.k8s.io":
		return "grants"
	case "certificates.cert-manager.io":
		return "certificates"
	case "dnsendpoints.externaldns.k8s.io":
		return "dnsEndpoints"
	}
	return ""
}

// crdLabel is a version or a resource name of custom resources: v1alpha1, rollouts.
type crdLabel string

// UnmarshalText returns an error if the text is not a DNS label, as the API server does.
func (l *crdLabel) UnmarshalText(b []byte) error {
	switch s := string(b); {
	case strings.Contains(s, "/"):
		return fmt.Errorf("%s is not a name: write the group in group, and the version in versions; "+
			"subresources have no templates", text.Quote(b))
	case !rule.IsSet(s) || '0' <= s[0] && s[0] <= '9':
		return fmt.Errorf("%s is not a name: use lower case letters, digits and -, beginning with a letter, at most 63; "+
			"resources are plural, as in rollouts", text.Quote(b))
	}
	*l = crdLabel(b)
	return nil
}

// crdKind is the kind of custom resources: Rollout.
type crdKind string

// UnmarshalText returns an error if the text cannot be a kind, as the API server does.
func (k *crdKind) UnmarshalText(b []byte) error {
	s := string(b)
	if !rule.IsSet(strings.ToLower(s)) || s[0] < 'A' || s[0] > 'Z' {
		return fmt.Errorf("%s is not a kind: use letters and digits, beginning with an upper case letter, as in Rollout",
			text.Quote(b))
	}
	*k = crdKind(b)
	return nil
}
