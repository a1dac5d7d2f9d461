package offline

import (
	"strings"
	"testing"

	"github.com/evergate/evergate/policy"
)

// An image or a host that contains a template action is an error in the input, whatever the policy denies.
func TestUnrendered(t *testing.T) {
	p := must(policy.Load())
	for manifest, want := range map[string]string{
		`{kind: Pod, apiVersion: v1, spec: {containers: [{name: a, image: "{{ image }}:{{ tag }}"}]}}`:                                   "spec.containers[0].image",
		`{kind: Pod, apiVersion: v1, spec: {initContainers: [{image: a}, {image: "a:{{ image }}"}]}}`:                                    "spec.initContainers[1].image",
		`{kind: Pod, apiVersion: v1, spec: {volumes: [{name: v, image: {reference: "{{ image }}"}}]}}`:                                   "spec.volumes[0].image.reference",
		`{kind: PodTemplate, apiVersion: v1, template: {spec: {containers: [{image: "{{ image }}"}]}}}`:                                  "template.spec.containers[0].image",
		`{kind: CronJob, apiVersion: batch/v1, spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: "{{ image }}"}]}}}}}}`: "spec.jobTemplate.spec.template.spec.containers[0].image",
		`{kind: Ingress, apiVersion: networking.k8s.io/v1, spec: {rules: [{}, {host: "a.{{ image }}"}]}}`:                                "spec.rules[1].host",
		`{kind: Ingress, apiVersion: networking.k8s.io/v1, spec: {tls: [{hosts: [a, "{{ image }}"]}]}}`:                                  "spec.tls[0].hosts[1]",
		`{kind: Service, apiVersion: v1, spec: {externalName: "{{ image }}"}}`:                                                           "spec.externalName",
		`{kind: Route, apiVersion: route.openshift.io/v1, spec: {host: "{{ image }}"}}`:                                                  "spec.host",
		`{kind: Certificate, apiVersion: cert-manager.io/v1, spec: {dnsNames: ["{{ image }}"]}}`:                                         "spec.dnsNames[0]",
		`{kind: DNSEndpoint, apiVersion: externaldns.k8s.io/v1alpha1, spec: {endpoints: [{dnsName: "{{ image }}"}]}}`:                    "spec.endpoints[0].dnsName",
		`{kind: Service, apiVersion: v1, metadata: {annotations: {external-dns.alpha.kubernetes.io/hostname: "{{ image }}"}}, spec: {}}`: "metadata.annotations.external-dns.alpha.kubernetes.io/hostname",

		`{kind: Pod, apiVersion: v1, metadata: {uid: "1"}, spec: {containers: [{image: "{{ image }}"}]}}`:                  "",
		`{kind: Pod, apiVersion: v1, spec: {containers: [{image: a, env: [{name: "{{ host }}", value: "{{ image }}"}]}]}}`: "",
		`{kind: Service, apiVersion: v1, metadata: {annotations: {summary: "{{ image }}"}}, spec: {}}`:                     "",
		`{kind: ConfigMap, apiVersion: v1, data: {image: "{{ image }}"}}`:                                                  "",
	} {
		r := Review(Options{Policy: p}, Read([]string{Stdin}, strings.NewReader(manifest)))
		got := strings.Join(r.Errors, "\n")
		if want != "" {
			want += ` contains the template action "{{ image }}": render it first, for example with helm template`
			_, got, _ = strings.Cut(strings.TrimPrefix(got, "stdin:1: "), ": ")
		}
		equal(t, want, got, manifest)
	}
}
