package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	exportedHeader  = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
	exportedMirrors = `mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io, imagePullSecret: mirror-login}
- {name: team, mode: enforce, sources: [ghcr.io/acme], mirror: mirror.corp.example/acme, match: {namespaces: [team-*]}}
pods:
- {name: only-mirrors, mode: enforce, images: {from: mirrors, allowed: [quay.io/acme/*]}}
`
	exportedRules = `- {name: hygiene, mode: enforce, images: {denied: [docker.io/evil], deniedTags: [latest, "dev-*"]}}
ingresses:
- {name: tls, mode: enforce, tls: {required: true}}
services:
- {name: no-node-ports, mode: enforce, types: {denied: [NodePort]}, externalIPs: {allowed: []}}
`
	exportedPolicy   = exportedHeader + exportedMirrors + exportedRules
	validatingPolicy = exportedHeader + "pods:\n" + exportedRules // exportedPolicy without its mirrors
)

// TestExported applies the output of evergate export to a real API server without replicas. Pods are rewritten and
// denied in the same way as by evergate review. If the API server has no MutatingAdmissionPolicies, the policy has no
// mirrors.
func TestExported(t *testing.T) {
	t.Parallel()
	needs(t, validatingVersion)
	policy, targets := exportedPolicy, "vap,map"
	if olderThan(t, mutatingVersion) {
		policy, targets = validatingPolicy, "vap"
	}
	c := start(t)
	binary, path := build(t), policyFile(t, policy)
	manifests, err := exec.CommandContext(t.Context(), binary, "export", "--target", targets, "--policy", path).Output()
	must(t, err)
	c.kubectl(t, string(manifests), "apply", "--server-side", "-f", "-")
	for _, name := range []string{"team-a", "other"} {
		c.createNamespace(t, name, map[string]string{optIn: "enabled"})
	}
	await(t, "the policies are active", func(ctx context.Context) bool {
		p, err := c.admin.CoreV1().Pods("other").Create(ctx, restricted(pod("p", "nginx:1")), dryRun)
		_, denied := c.admin.CoreV1().Pods("other").Create(ctx, restricted(pod("p", "quay.io/acme/x:latest")), dryRun)
		rewritten := err == nil && strings.HasPrefix(p.Spec.Containers[0].Image, "mirror.corp.example/")
		return err == nil && rewritten == (policy == exportedPolicy) && denied != nil &&
			createNodePort(ctx, c) != nil && createIngress("other", dryRun)(ctx, c.admin) != nil
	})
	for _, namespace := range []string{"team-a", "other"} {
		for i, image := range exportedImages() {
			p := restricted(pod(fmt.Sprintf("p%d", i), image))
			p.TypeMeta, p.Namespace = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, namespace
			want := reviewed(t, binary, path, p)
			got := ""
			created, err := c.admin.CoreV1().Pods(namespace).Create(t.Context(), p, dryRun)
			if err != nil {
				_, got, _ = strings.Cut(err.Error(), " denied request: ")
				got = "denied: " + got
			} else {
				got = created.Spec.Containers[0].Image
			}
			if !regexp.MustCompile("^" + want + "$").MatchString(got) {
				t.Errorf("%s in %s: %s, want %s", image, namespace, got, want)
			}
		}
	}
	err = createNodePort(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), `no-node-ports/types.denied: spec.type: "NodePort" is denied`) {
		t.Errorf("a Service is admitted: %v", err)
	}
	if err := createIngress("other", dryRun)(t.Context(), c.admin); err == nil ||
		!strings.Contains(err.Error(), "tls/tls.required") {
		t.Errorf("an Ingress is admitted: %v", err)
	}
}

// TestExportedObjects creates generated objects of all kinds on a real API server with the exported policies. Module
// equivalence generates them and computes Evergate's decisions. EVERGATE_E2E_OBJECTS is the number of objects of each kind.
// The gate does not have time for this test.
func TestExportedObjects(t *testing.T) {
	t.Parallel()
	objects := os.Getenv("EVERGATE_E2E_OBJECTS")
	if objects == "" {
		t.Skip("EVERGATE_E2E_OBJECTS is not set to the number of objects")
	}
	c := start(t)
	c.installHostKinds(t)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=20m", "-run=^TestServer$", ".",
		"-kubeconfig", c.kubeconfig, "-objects", objects) // without -race, which needs cgo
	cmd.Dir = "../../offline/export/equivalence"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func createNodePort(ctx context.Context, c *cluster) error {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	_, err := c.admin.CoreV1().Services("other").Create(ctx, svc, dryRun)
	return err
}

// exportedImages returns images in many spellings.
func exportedImages() []string {
	var all []string
	for _, registry := range []string{"", "docker.io/", "index.docker.io/", "GHCR.io:443/", "ghcr.io:0443/", "ghcr.io/",
		"quay.io/", "[2001:DB8::1]:5000/", "[::ffff:c000:201]:5000/", "192.0.2.1:5000/", "0300.0.2.1:5000/",
		"mirror.corp.example/docker.io/", "mirror.corp.example:443/", "registry-1.docker.io/"} {
		for _, path := range []string{"nginx", "acme/app", "evil", "evil/x", "library/evil"} {
			for _, version := range []string{"", ":1", ":latest", ":dev-1@sha256:" + strings.Repeat("a", 64)} {
				all = append(all, registry+path+version)
			}
		}
	}
	return append(all, "sha256:12ab", "Nginx", "nginx@sha256:12", "reg.example:65536/x", "a..b/x")
}

// reviewed returns a pattern for the decision of evergate review: the final image of a Pod, or the message of the API
// server, with the rules, checks and paths of the findings.
func reviewed(t *testing.T, binary, policy string, p *corev1.Pod) string {
	t.Helper()
	manifest, err := json.Marshal(p)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), binary, "review", "--policy", policy, "-o", "json", "-f", "-")
	cmd.Stdin = strings.NewReader(string(manifest))
	out, _ := cmd.Output() // exit code 1 means that it is denied
	var report struct {
		Policy  struct{ Hash string }
		Results []struct {
			Decision string
			Findings []struct{ Effect, ID, Path, Message string }
			Images   []struct{ To string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil || len(report.Results) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	result := &report.Results[0]
	if result.Decision != "denied" {
		if len(result.Images) == 1 && result.Images[0].To != "" {
			return regexp.QuoteMeta(result.Images[0].To)
		}
		return regexp.QuoteMeta(p.Spec.Containers[0].Image)
	}
	var begins []string
	for _, f := range result.Findings {
		if f.Effect == "denied" {
			begins = append(begins, regexp.QuoteMeta(f.ID+": "+f.Path+": "))
		}
	}
	head := ""
	if n := len(begins); n > 1 {
		head = fmt.Sprintf("%d findings: ", n)
	}
	return "denied: " + head + strings.Join(begins, ".*; ") + `.* \[policy ` + report.Policy.Hash + `\]`
}
