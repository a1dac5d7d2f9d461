package kit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestPreflightJob runs the same commands as the component's Job on a real API server: kubectl with the permissions of
// the Job's account, and then evergate with the output. evergate must understand all of it, and find only the one or
// two errors in that cluster.
func TestPreflightJob(t *testing.T) {
	t.Parallel()
	c := start(t)
	const overlay, want = "examples/overlays/every-namespace", "none of its endpoints is ready"
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, overlay))
	namespace, spec := job(t, read(t).render(t, overlay))
	dump := t.TempDir()
	for _, init := range spec.InitContainers {
		c.collect(t, init, namespace, spec.ServiceAccountName, dump)
	}
	got, said, code := runJob(t, build(t), spec.Containers[0], func(arg string) string {
		if arg == "--connect" { // the Service does not work here
			return ""
		}
		return strings.Replace(arg, "/dump/", dump+"/", 1)
	})
	if !strings.Contains(got, want) || said != "" || code > 1 {
		t.Errorf("exit code %d, %q; %s does not mention %q:\n%s", code, said, overlay, want, got)
	}
}

// TestAuditJob does the same for the audit, whose container lists the kinds itself. If CRDs are installed later, the
// next run evaluates their objects without any other change.
func TestAuditJob(t *testing.T) {
	t.Parallel()
	c := start(t)
	const overlay = "examples/overlays/platform"
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, overlay))
	namespace, spec := job(t, read(t).render(t, overlay))
	if len(spec.InitContainers) > 0 {
		t.Fatal("it has more than one container")
	}
	binary, file, credentials := build(t), policyFile(t, auditPolicy), c.credentials(t, namespace, spec.ServiceAccountName)
	run := func() (report, said string, code int) {
		return runJob(t, binary, spec.Containers[0], func(arg string) string {
			switch arg {
			case "--api-server=https://kubernetes.default.svc":
				return "--api-server=" + c.Admin().Config().Host
			case "--policy=/etc/evergate/policy":
				return "--policy=" + file
			}
			return arg
		}, "--api-server-credentials="+credentials)
	}
	c.createNamespace(t, "team", nil)
	c.kubectl(t, "", "-n", "team", "create", "service", "nodeport", "open", "--tcp=80")
	const services = "Service open: denied\n    denied     no-node-ports/types.denied: "
	const absent = "\nnot served: xbackends.gateway.networking.x-k8s.io, httproutes.gateway.networking.k8s.io, " +
		"grpcroutes.gateway.networking.k8s.io, " +
		"tlsroutes.gateway.networking.k8s.io, tcproutes.gateway.networking.k8s.io, udproutes.gateway.networking.k8s.io, " +
		"routes.route.openshift.io, gateways.gateway.networking.k8s.io, listenersets.gateway.networking.k8s.io, " +
		"xlistenersets.gateway.networking.x-k8s.io, referencegrants.gateway.networking.k8s.io, " +
		"dnsendpoints.externaldns.k8s.io\n"
	report, said, code := run()
	if code != 1 || said != "" || !strings.Contains(report, services) || !strings.Contains(report, absent) {
		t.Errorf("without the CRDs: exit code %d, %q\n%s", code, said, report)
	}

	c.installHostKinds(t)
	c.kubectl(t, auditedHosts, "-n", "team", "apply", "-f", "-")
	report, said, code = run()
	if code != 1 || said != "" || strings.Contains(report, "not served") {
		t.Errorf("with the CRDs: exit code %d, %q\n%s", code, said, report)
	}
	for _, want := range append([]string{services}, auditedSentences()...) {
		if !strings.Contains(report, want) {
			t.Errorf("with the CRDs it does not mention %q:\n%s", want, report)
		}
	}

	role := "evergate-audit"
	c.kubectl(t, "", "patch", "clusterrole", role, "--type=json", "--patch",
		`[{"op":"replace","path":"/rules/2/resources/0","value":"none"}]`)
	const forbidden = "evergate: httproutes.gateway.networking.k8s.io: the list is incomplete: the API server " +
		"answers 403: " +
		`httproutes.gateway.networking.k8s.io is forbidden: User "system:serviceaccount:platform-admission:evergate-audit" `
	await(t, "the account may no longer list HTTPRoutes", func(context.Context) bool {
		report, said, code = run()
		return code == 2
	})
	if !strings.HasPrefix(said, forbidden) || !strings.Contains(report, services) ||
		!strings.Contains(report, auditedSentences()[1]) || strings.Contains(report, auditedSentences()[0]) {
		t.Errorf("without the right to list one kind: %q\n%s", said, report)
	}
}

// auditPolicy has findings in an object of each API group.
const auditPolicy = servedPolicy + `routes: [{name: r, mode: enforce, hosts: {required: true}}]
gateways: [{name: g, mode: enforce, hosts: {required: true}}]
grants: [{name: n, mode: enforce, to: {names: required}}]
certificates: [{name: c, mode: enforce, hosts: {allowed: []}}]
dnsEndpoints: [{name: d, mode: enforce, hosts: {allowed: []}}]
`

// auditedHosts contains objects of the kinds whose CRDs are installed later. Each has a finding with auditPolicy.
const auditedHosts = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec: {}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: a, listeners: [{name: a, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: web}
spec: {from: [{group: "", kind: Service, namespace: a}], to: [{group: "", kind: Secret}]}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec: {secretName: web, issuerRef: {name: a}, dnsNames: [a.example]}
---
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: web}
spec: {endpoints: [{dnsName: a.example, recordType: A, targets: [192.0.2.1]}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: web}
spec: {to: {kind: Service, name: web}}
`

// auditedSentences returns the starts of the findings about auditedHosts.
func auditedSentences() []string {
	return []string{
		"  HTTPRoute web: denied\n    denied     r/hosts.required: spec.hostnames: ",
		"  Gateway web: denied\n    denied     g/hosts.required: spec.listeners[0].hostname: ",
		"  ReferenceGrant web: denied\n    denied     n/to.names: spec.to[0].name: ",
		"  Certificate web: denied\n    denied     c/hosts.allowed: spec.dnsNames[0]: ",
		"  DNSEndpoint web: denied\n    denied     d/hosts.allowed: spec.endpoints[0].dnsName: ",
		"  Route web: denied\n    denied     r/hosts.required: spec.host: ",
	}
}

// credentials returns the directory in which a container finds its token and the certificates of the cluster.
func (c *cluster) credentials(t *testing.T, namespace, account string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"token":  []byte(c.kubectl(t, "", "--namespace="+namespace, "create", "token", account)),
		"ca.crt": c.Admin().Config().CAData,
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}

// job returns the Pod of the only Job, or CronJob, of an overlay, and its namespace.
func job(t *testing.T, manifests []byte) (namespace string, spec corev1.PodSpec) {
	t.Helper()
	decoder := strict(t)
	for _, doc := range documents(t, manifests) {
		object, _, err := decoder.Decode(doc, nil, nil)
		must(t, err)
		switch o := object.(type) {
		case *batchv1.CronJob:
			return o.Namespace, o.Spec.JobTemplate.Spec.Template.Spec
		case *batchv1.Job:
			return o.Namespace, o.Spec.Template.Spec
		}
	}
	t.Fatal("there is no Job")
	return "", corev1.PodSpec{}
}

// collect runs the kubectl of a container as a service account. The output goes to the file that go-runner would write.
func (c *cluster) collect(t *testing.T, container corev1.Container, namespace, account, dump string) {
	t.Helper()
	var file string
	for _, word := range container.Command {
		if name, ok := strings.CutPrefix(word, "--log-file=/dump/"); ok {
			file = name
		}
	}
	if file == "" || container.Args[0] != "/bin/kubectl" {
		t.Fatalf("%s runs %q %q", container.Name, container.Command, container.Args)
	}
	out := c.kubectl(t, "", slices.Concat(container.Args[1:], []string{
		"--namespace=" + namespace, // as in a Pod
		"--as=system:serviceaccount:" + namespace + ":" + account,
		"--as-group=system:serviceaccounts", "--as-group=system:authenticated",
	})...)
	must(t, os.WriteFile(filepath.Join(dump, file), []byte(out), 0o600))
}

// runJob runs evergate like a container, with arguments that replace returns, and further arguments.
func runJob(
	t *testing.T, binary string, container corev1.Container, replace func(arg string) string, more ...string,
) (report, said string, code int) {
	t.Helper()
	var args []string
	for _, arg := range container.Args {
		if arg = replace(arg); arg != "" {
			args = append(args, arg)
		}
	}
	cmd := exec.CommandContext(t.Context(), binary, append(args, more...)...)
	cmd.Env = []string{} // it does not need any variables of this test, and would warn about EVERGATE_E2E_…
	for _, v := range container.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out), stderr.String(), cmd.ProcessState.ExitCode()
}
