package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/deploy/install"
)

// sample is an object that the API server accepts. fields is JSON.
type sample struct{ apiVersion, kind, resource, fields string }

// samples returns an object for each webhook of the manifests. The Pods satisfy the strictest Pod Security Standard.
func samples() []sample {
	const (
		gateway = "gateway.networking.k8s.io/v1"
		pod     = `"spec": {"restartPolicy": "Never", "securityContext": {"runAsNonRoot": true, "runAsUser": 65532,
"seccompProfile": {"type": "RuntimeDefault"}}, "containers": [{"name": "hello", "image": "evergate.dev/hello",
"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}`
		job = `"spec": {"template": {` + pod + `}}`
	)
	return []sample{
		{"v1", "Pod", "pods", pod},
		{"v1", "ConfigMap", "configmaps", `"data": {}`},
		{"v1", "Service", "services", `"spec": {"clusterIP": "None"}`},
		{"v1", "PodTemplate", "podtemplates", `"template": {` + pod + `}`},
		{"batch/v1", "Job", "jobs", job},
		{"batch/v1", "CronJob", "cronjobs", `"spec": {"schedule": "@yearly", "jobTemplate": {` + job + `}}`},
		{"networking.k8s.io/v1", "Ingress", "ingresses",
			`"spec": {"defaultBackend": {"service": {"name": "hello", "port": {"number": 80}}}}`},
		{gateway, "HTTPRoute", "httproutes", `"spec": {}`},
		{gateway, "Gateway", "gateways",
			`"spec": {"gatewayClassName": "hello", "listeners": [{"name": "a", "port": 80, "protocol": "HTTP"}]}`},
		{gateway, "ReferenceGrant", "referencegrants",
			`"spec": {"from": [{"group": "a", "kind": "B", "namespace": "c"}], "to": [{"group": "", "kind": "Service"}]}`},
		{"route.openshift.io/v1", "Route", "routes", `"spec": {"to": {"kind": "Service", "name": "hello"}}`},
		{"cert-manager.io/v1", "Certificate", "certificates",
			`"spec": {"secretName": "hello", "dnsNames": ["hello.example"], "issuerRef": {"name": "hello"}}`},
		{"externaldns.k8s.io/v1alpha1", "DNSEndpoint", "dnsendpoints", `"spec": {"endpoints": []}`},
	}
}

// Hello calls the webhooks of an installation, and returns their answers by the names of the webhooks. It creates
// objects with the annotation evergate.dev/hello as a dry run, so nothing changes in the cluster. It leaves out
// webhooks for kinds that the cluster does not serve.
func (c *Cluster) Hello(ctx context.Context, i *install.Install) map[string]deploy.Answer {
	answers, sent := map[string]deploy.Answer{}, map[string]*call{}
	for _, h := range i.Hooks {
		at := slices.IndexFunc(samples(), func(s sample) bool { return s.matchedBy(h) })
		namespace, name := namespaceOf(i, h), "evergate-hello"
		if h.GuardsPolicy() {
			namespace, name = i.Namespace, policyName(i)
		}
		switch {
		case h.NeverCalled() != "":
			answers[h.Name] = deploy.Answer{NotCalled: "its matchCondition " + h.NeverCalled() + " is never true"}
		case at < 0:
			answers[h.Name] = deploy.Answer{NotCalled: "its rules do not match the creation of an object that preflight has"}
		case namespace == "":
			answers[h.Name] = deploy.Answer{NotCalled: "no namespace has opted in"}
		default:
			s := samples()[at]
			key := namespace + "/" + s.resource
			if sent[key] == nil {
				sent[key] = c.hello(ctx, s, namespace, name)
			}
			if !apierrors.IsNotFound(sent[key].err) {
				answers[h.Name] = sent[key].answer(h)
			}
		}
	}
	return answers
}

// matchedBy reports whether a rule of a webhook matches the creation of the object.
func (s sample) matchedBy(h *install.Hook) bool {
	w := install.Write{Operation: admissionv1.Create, Version: s.apiVersion, Name: s.resource}
	if group, version, ok := strings.Cut(s.apiVersion, "/"); ok {
		w.Group, w.Version = group, version
	}
	return slices.ContainsFunc(h.Rules, w.MatchedBy)
}

// namespaceOf returns a namespace that a webhook matches, or "".
func namespaceOf(i *install.Install, h *install.Hook) string {
	for _, ns := range install.Of[*corev1.Namespace](i.Objects) {
		ends := ns.Status.Phase == corev1.NamespaceTerminating
		if !ends && install.Selects(h.NamespaceSelector, i.NamespaceLabels(ns.Name)) {
			return ns.Name
		}
	}
	return ""
}

// policyName returns the name of the policy's ConfigMap.
func policyName(i *install.Install) string {
	for _, s := range i.Servers {
		if mounted, _ := s.PolicyMaps(); len(mounted) > 0 {
			return mounted[0].Name
		}
	}
	return "evergate-policy"
}

// call is the answer of the API server to a dry run.
type call struct {
	warnings warnings
	err      error
}

// hello creates an object as a dry run.
func (c *Cluster) hello(ctx context.Context, s sample, namespace, name string) *call {
	root := "/apis/"
	if s.apiVersion == "v1" {
		root = "/api/"
	}
	object := fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q, "annotations": {%q: ""}}, %s}`,
		s.apiVersion, s.kind, name, admission.HelloAnnotation, s.fields)
	var made call
	made.err = c.Client.CoreV1().RESTClient().Post().AbsPath(root+s.apiVersion, "namespaces", namespace, s.resource).
		Param("dryRun", "All").SetHeader("Content-Type", "application/json").Body([]byte(object)).
		WarningHandler(&made.warnings).Do(ctx).Error()
	return &made
}

// answer returns the answer of a webhook. It is empty if the API server accepts the dry run without an answer.
func (c *call) answer(h *install.Hook) deploy.Answer {
	for _, w := range c.warnings {
		if path, _, hash, ok := admission.ParseHello(w); ok && path == h.Path {
			return deploy.Answer{Policy: hash}
		}
	}
	switch {
	case c.err == nil, apierrors.IsAlreadyExists(c.err): // the API server calls webhooks before it finds the other object
		return deploy.Answer{}
	case strings.Contains(c.err.Error(), fmt.Sprintf("failed calling webhook %q", h.Name)):
		return deploy.Answer{Failed: c.err.Error()}
	}
	return deploy.Answer{NotCalled: c.err.Error()}
}

// warnings keeps the warnings of the API server.
type warnings []string

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

var _ rest.WarningHandler = new(warnings)
