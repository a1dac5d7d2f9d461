package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// TestWarnOfGroups checks the warnings about groups of webhooks that are off although the policy needs them.
func TestWarnOfGroups(t *testing.T) {
	const (
		pods   = "mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]\n"
		ports  = "services: [{name: ports, mode: enforce, types: {denied: [NodePort]}}]\n"
		tls    = "ingresses: [{name: tls, mode: warn, tls: {required: true}}]\n"
		names  = "services: [{name: names, mode: enforce, externalNames: {}}]\n"
		routes = "routes:\n- {name: hosts, mode: enforce, hosts: {wildcards: deny}}\n" +
			"- {name: edge, mode: enforce, kinds: [Route], hosts: {wildcards: deny}}\n"
		certificates = "certificates: [{name: cas, mode: enforce, hosts: {wildcards: deny}}]\n"
	)
	for name, test := range map[string]struct {
		policy string
		paths  string // that webhooks call
		native bool   // the cluster has native policies
		unread bool   // the user may not list them
		want   string
	}{
		"no group is off":             {tls + ports, "/validate/ingresses /validate/services", false, false, ""},
		"the policy needs one group":  {pods, "/mutate/pods", false, false, ""},
		"an entry that is off":        {strings.ReplaceAll(tls, "warn", `"off"`), "/validate/policy", false, false, ""},
		"native policies replace it":  {tls + ports, "/validate/policy", true, false, ""},
		"only native policies":        {names, "", true, false, ""},
		"only native policies, maybe": {names, "", false, true, ""},
		"one group": {
			tls + ports, "/mutate/pods", false, false,
			"webhooks for Ingresses and Services are off, so nothing enforces these entries of the policy: ingresses tls, " +
				"services ports. To switch them on, remove the component no-ingresses or set the chart value " +
				"webhooks.ingressesAndServices to true",
		},
		"a part of a group": {
			tls + ports, "/validate/ingresses", false, false,
			"webhooks for Ingresses and Services are off, so nothing enforces these entries of the policy: services ports. " +
				"To switch them on, remove the component no-ingresses or set the chart value webhooks.ingressesAndServices to " +
				"true",
		},
		"two groups": {
			pods + certificates, "/validate/policy", false, false,
			"webhooks for Pods and mirrors are off, so nothing enforces these entries of the policy: mirrors hub. To switch " +
				"them on, remove the component no-pods or set the chart value webhooks.pods to true\n" +
				"webhooks for add-ons are off, so nothing enforces these entries of the policy: certificates cas. To switch " +
				"them on, add the component host-kinds or set the chart value webhooks.addOns to true",
		},
		"either of two groups": {
			routes, "/validate/policy", false, false,
			"webhooks for Gateway API and for OpenShift Routes are off, so nothing enforces these entries of the policy: " +
				"routes hosts. To switch them on, remove the component no-gateway-api or set the chart value " +
				"webhooks.gatewayAPI to true, or remove the component no-openshift-routes or set the chart value " +
				"webhooks.openshiftRoutes to true\n" +
				"webhooks for OpenShift Routes are off, so nothing enforces these entries of the policy: routes edge. To switch " +
				"them on, remove the component no-openshift-routes or set the chart value webhooks.openshiftRoutes to true",
		},
		"native policies do not replace it": {
			tls + names, "/mutate/pods", true, false,
			"webhooks for Ingresses and Services are off, and the native policies do not completely enforce these entries of " +
				"the policy: services names. To switch them on, remove the component no-ingresses or set the chart value " +
				"webhooks.ingressesAndServices to true",
		},
		"native policies that the user may not list": {
			ports, "/mutate/pods", false, true,
			"webhooks for Ingresses and Services are off, so no webhook enforces these entries of the policy: services " +
				"ports. To switch them on, remove the component no-ingresses or set the chart value " +
				"webhooks.ingressesAndServices to true",
		},
		"no webhooks": {
			tls + ports, "", false, false,
			"there are no webhooks of Evergate and no native policies, so nothing enforces the policy. To install the " +
				"webhooks, apply your overlay or chart",
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := policy.Describe(policy.File{Name: "p.yaml", Data: []byte(
				"apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + test.policy)})
			if err != nil {
				t.Fatal(err)
			}
			n := &needs{policy: doc, unread: test.unread, agreed: test.native}
			if test.native {
				n.native = export.Export(doc, export.Options{Targets: []export.Target{export.VAP, export.MAP}}).Coverage
			}
			var hooks []hook
			for path := range strings.FieldsSeq(test.paths) {
				hooks = append(hooks, hook{path: path})
			}
			want := ""
			for line := range strings.Lines(test.want) {
				want += "evergate: warning: " + strings.TrimSpace(line) + "\n"
			}
			var stderr bytes.Buffer
			a := &app{stderr: &stderr}
			if off := a.warnOfGroups(hooks, n); off != (want != "") {
				t.Errorf("groups are off: %t", off)
			}
			if diff := cmp.Diff(want, stderr.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestWarnOfFiles checks the warning in a cluster without webhooks whose API server has native policies in files. apply
// does not ask about the parts that are not in the files.
func TestWarnOfFiles(t *testing.T) {
	for text, want := range map[string]string{
		nativePolicy: "",
		partlyNative: "evergate: warning: webhooks for Ingresses and Services are off, and the native policies do not " +
			"completely enforce these entries of the policy: services types. To switch them on, remove the component " +
			"no-ingresses or set the chart value webhooks.ingressesAndServices to true\n",
	} {
		cluster := objects{}.serve(t)
		handler := func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost { // the probe for files
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", `+
					`"message": "evergate-probe.static.k8s.io: exported from [policy 0123456789ab]"}`)
				return
			}
			cluster(w, r)
		}
		var stderr bytes.Buffer
		a := &app{namespace: "evergate-system", stderr: &stderr}
		a.kubeconfig.ExplicitPath = kubeconfig(t, handler)
		c, err := a.connect()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := policy.Describe(policy.File{Name: "p.yaml", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		off, err := a.requireCalled(t.Context(), c, needsOfFiles(t.Context(), c, doc, time.Time{}))
		if diff := cmp.Diff(want, stderr.String()); err != nil || diff != "" || off != (want != "") {
			t.Errorf("%t, %v, -want +got:\n%s", off, err, diff)
		}
	}
}

// writable is a small cluster that stores no changes. It counts the changes of the policy.
type writable struct {
	answers
	writes int
}

func (w *writable) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.answers.ServeHTTP(to, r)
		return
	}
	to.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	if r.Method == http.MethodPatch {
		to.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("dryRun") == "" {
			w.writes++
		}
	}
	_, _ = io.Copy(to, r.Body) // the object as it would be stored
}

// TestApplyWithOneWebhook applies a policy to a cluster in which the only webhook matches Deployments.
func TestApplyWithOneWebhook(t *testing.T) {
	const (
		configurations = "/apis/admissionregistration.k8s.io/v1/"
		validating     = configurations + "validatingwebhookconfigurations"
		warning        = "evergate: warning: webhooks for Ingresses and Services are off, so nothing enforces these " +
			"entries of the policy: services ports. To switch them on, remove the component no-ingresses or set the chart " +
			"value webhooks.ingressesAndServices to true\n"
		ports = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" +
			"services: [{name: ports, mode: enforce, types: {denied: [NodePort]}}]\n"
	)
	for name, test := range map[string]struct {
		policy string
		flags  []string
		change func(answers)
		stderr string
		code   int
	}{
		"a group that the policy needs": {
			ports, nil, nil,
			warning + "evergate: a part of the policy would not be enforced, and there is no terminal for a confirmation: " +
				"add --yes\n",
			cli.Found,
		},
		"with --yes": {ports, []string{"--yes"}, nil, warning, cli.OK},
		"a group that the policy does not need": {
			strings.ReplaceAll(ports, "enforce", `"off"`) + "pods: [{name: tags, mode: enforce, images: {deniedTags: [a]}}]\n",
			nil, nil, "", cli.OK,
		},
		"webhook configurations that the user may not list": {
			ports, nil, func(a answers) { delete(a, validating) },
			"evergate: you may not list webhook configurations, so apply does not check that the webhooks that the policy " +
				"needs are on (docs/plugin.md lists the permissions)\n",
			cli.OK,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &writable{answers: small()}
			for _, kind := range []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"} {
				resource := configurations + strings.TrimSuffix(strings.ToLower(kind), "y")
				list := `{"kind": "%sList", "apiVersion": "admissionregistration.k8s.io/v1", "items": []}`
				cluster.answers[resource+"ies"] = fmt.Sprintf(list, kind)
				cluster.answers[resource+"ybindings"] = fmt.Sprintf(list, kind+"Binding")
			}
			if test.change != nil {
				test.change(cluster.answers)
			}
			var stdout, stderr bytes.Buffer
			args := append([]string{"apply", "-f", "-", "--no-plan", "--wait=false", "--kubeconfig",
				kubeconfig(t, cluster.ServeHTTP)}, test.flags...)
			if code := run(t.Context(), args, strings.NewReader(test.policy), &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if diff := cmp.Diff(test.stderr, stderr.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			applied := strings.Contains(stdout.String(), "is applied to the ConfigMap evergate-policy")
			if applied != (test.code == cli.OK) || applied != (cluster.writes > 0) {
				t.Errorf("%d changes:\n%s", cluster.writes, &stdout)
			}
		})
	}
}
