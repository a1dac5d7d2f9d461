package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// objects are the objects of an API server: lists by the path of their resource.
type objects map[string][]any

// add adds an object to the resource at a path. It returns the objects.
func (o objects) add(resource, namespace, name, rest string) objects {
	var object map[string]any
	text := fmt.Sprintf(`{"metadata": {"namespace": %q, "name": %q}, %s}`, namespace, name, rest)
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		panic(err)
	}
	o[resource] = append(o[resource], object)
	return o
}

// serve returns a handler that answers GET requests for lists and for single objects. The test fails if a client
// changes an object. Resources whose list is nil are forbidden.
func (o objects) serve(t *testing.T) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet {
			if r.URL.Query().Get("dryRun") == "" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "ConfigMap"}`) // the probe for files
			return
		}
		if !strings.HasPrefix(r.URL.Path, "/api") {
			reject(w, http.StatusNotFound, "NotFound") // metrics
			return
		}
		resource, name := path.Split(r.URL.Path)
		resource = strings.TrimSuffix(resource, "/")
		if list, ok := o[r.URL.Path]; ok && list == nil {
			reject(w, http.StatusForbidden, "Forbidden")
		} else if list, ok := o[resource]; ok {
			for _, object := range list {
				if object.(map[string]any)["metadata"].(map[string]any)["name"] == name {
					_ = json.NewEncoder(w).Encode(object)
					return
				}
			}
			reject(w, http.StatusNotFound, "NotFound")
		} else if strings.HasSuffix(resource, "/configmaps") {
			reject(w, http.StatusNotFound, "NotFound")
		} else {
			_ = json.NewEncoder(w).Encode(listOf(r.URL.Path, o[r.URL.Path]))
		}
	}
}

// listOf returns the list of a resource.
func listOf(resource string, items []any) map[string]any {
	version := strings.Split(strings.Trim(resource, "/"), "/") // api/VERSION/… or apis/GROUP/VERSION/…
	apiVersion := version[1]
	if version[0] == "apis" {
		apiVersion += "/" + version[2]
	}
	kind := map[string]string{
		"pods": "Pod", "namespaces": "Namespace", "configmaps": "ConfigMap", "deployments": "Deployment",
		"mutatingwebhookconfigurations":   "MutatingWebhookConfiguration",
		"validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
	}[path.Base(resource)]
	return map[string]any{"apiVersion": apiVersion, "kind": kind + "List", "metadata": map[string]any{}, "items": items}
}

const (
	admissionAPI = "/apis/admissionregistration.k8s.io/v1/"
	nativePolicy = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" +
		"services: [{name: types, mode: enforce, types: {denied: [NodePort]}}]\n"
	partlyNative = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" +
		"services: [{name: types, mode: enforce, types: {denied: [NodePort]}, externalNames: {}}]\n"
)

// nativeCluster returns the objects of a cluster with only native policies and, in a namespace, their policy.
func nativeCluster(t *testing.T, namespace string) objects {
	t.Helper()
	files := []policy.File{{Name: "policy.yaml", Data: []byte(nativePolicy)}}
	p, err := policy.Load(files...)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := policy.Describe(files...)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{"/api/v1/namespaces": nil}
	for _, name := range []string{"evergate-system", "default", "gate"} {
		all.add("/api/v1/namespaces", "", name, `"kind": "Namespace", "apiVersion": "v1"`)
	}
	for _, object := range export.Export(doc, export.Options{
		Targets: []export.Target{export.VAP}, Exempt: export.ExemptNamespaces(), Hash: p.Hash(),
	}).Objects {
		data, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		var decoded map[string]any
		if err := json.Unmarshal(data, &decoded); err != nil {
			t.Fatal(err)
		}
		resource := admissionAPI + "validatingadmissionpolicies"
		if decoded["kind"] == "ValidatingAdmissionPolicyBinding" {
			resource = admissionAPI + "validatingadmissionpolicybindings"
		}
		all[resource] = append(all[resource], decoded)
	}
	data, err := json.Marshal(map[string]string{"policy.yaml": nativePolicy})
	if err != nil {
		t.Fatal(err)
	}
	return all.add("/api/v1/namespaces/"+namespace+"/configmaps", namespace, "evergate-policy",
		`"apiVersion": "v1", "kind": "ConfigMap", "data": `+string(data))
}

// webhookIn adds a webhook that calls a Service in a namespace.
func (o objects) webhookIn(namespace string) objects {
	return o.add(admissionAPI+"validatingwebhookconfigurations", "", "evergate", `"webhooks": [{
		"name": "services.validate.evergate.dev",
		"clientConfig": {"service": {"namespace": "`+namespace+`", "name": "evergate"}}
	}]`)
}

// serverIn adds a Deployment without Pods. list is the namespace in the path of the list that contains it, if any.
func (o objects) serverIn(namespace, list string) objects {
	return o.add(path.Join("/apis/apps/v1/", list, "deployments"), namespace, "evergate",
		`"spec": {"template": {"spec": {"containers": [{"name": "evergate", "args": ["serve"]}]}}}`)
}

// TestStatusInWrongNamespace checks that status reports only a cluster without webhooks and without a Deployment as
// native-only, and only if its policy is in the namespace.
func TestStatusInWrongNamespace(t *testing.T) {
	const system = "evergate-system"
	const only = "Only the native policies enforce the policy: there are no webhooks and no replicas\n"
	forbidden := nativeCluster(t, system)
	forbidden["/apis/apps/v1/namespaces/evergate-system/deployments"] = nil
	elsewhereForbidden := nativeCluster(t, system)
	elsewhereForbidden["/apis/apps/v1/deployments"] = nil
	for name, test := range map[string]struct {
		cluster   objects
		namespace string
		want      []string // parts of the output
	}{
		"native-only": {nativeCluster(t, system), system, []string{only}},
		"native-only, Deployments in other namespaces may not be listed": {elsewhereForbidden, system, []string{only}},
		"native-only, in the wrong namespace": {nativeCluster(t, system), "default", []string{
			"  there are no replicas\n",
			"  there is no ConfigMap evergate-policy in default, which contains the policy of the backstop\n",
			"  there are no webhooks of Evergate that call a URL or a Service in default\n",
		}},
		"webhooks in another namespace": {nativeCluster(t, "default").webhookIn("gate"), "default", []string{
			"  the webhooks of Evergate call Services in gate and not in default: set the namespace of Evergate with " +
				"--evergate-namespace\n",
		}},
		"a Deployment without Pods": {
			nativeCluster(t, system).serverIn(system, "namespaces/"+system), system, []string{
				"  there are no replicas in evergate-system, but the Deployment evergate-system/evergate runs evergate serve\n",
				"  there are no webhooks of Evergate that call a URL or a Service in evergate-system\n",
			},
		},
		"a Deployment in another namespace": {nativeCluster(t, "default").serverIn("gate", ""), "default", []string{
			"  there are no replicas in default, but the Deployment gate/evergate runs evergate serve\n",
		}},
		"Deployments may not be listed": {forbidden, system, []string{
			"Not read:\n  Deployments: list the Deployments: it is Forbidden\n", "  there are no replicas\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code := run(t.Context(), []string{
				"status", "--evergate-namespace", test.namespace, "--kubeconfig", kubeconfig(t, test.cluster.serve(t)),
			}, strings.NewReader(""), &out, &out)
			healthy := test.want[0] == only
			if (code == cli.OK) != healthy || strings.Contains(out.String(), only) != healthy {
				t.Errorf("exit code %d", code)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in\n%s", want, &out)
				}
			}
		})
	}
}

// TestApplyWithoutWebhooks checks that apply does not change anything in the wrong namespace. It needs the agreement of
// the user to apply a policy that neither webhooks nor native policies would enforce completely. In a cluster with only
// native policies, it does not wait for replicas.
func TestApplyWithoutWebhooks(t *testing.T) {
	const system = "evergate-system"
	const omission = "services[0].externalNames: the API server does not have a list of public top-level domains"
	const partly = "evergate: nothing was applied: the backstop cannot enforce the whole policy; "
	for name, test := range map[string]struct {
		cluster objects
		policy  string
		args    []string
		code    int
		want    []string // parts of the output
	}{
		"the policy is there": {nativeCluster(t, system), nativePolicy, nil, cli.OK, []string{
			" is already applied\n",
			"evergate: there are no webhooks and no replicas: only the native policies enforce the policy\n",
		}},
		"a Deployment without Pods": {
			nativeCluster(t, system).serverIn(system, "namespaces/"+system), nativePolicy, nil, cli.Found, []string{
				" is already applied\n", "evergate: there are no replicas: kubectl -n evergate-system get pods\n",
			},
		},
		"webhooks in another namespace": {
			nativeCluster(t, "default").webhookIn("gate"), nativePolicy, []string{"--evergate-namespace", "default"}, cli.Usage,
			[]string{"evergate: nothing was applied: the webhooks of Evergate call Services in gate and not in default: set " +
				"the namespace of Evergate with --evergate-namespace\n"},
		},
		"native-only, in the wrong namespace": {
			nativeCluster(t, system), nativePolicy, []string{"--evergate-namespace", "default"}, cli.Usage,
			[]string{"evergate: nothing was applied: the cluster has native policies, but the namespace default does not " +
				"have the ConfigMap evergate-policy with their policy: set the namespace of Evergate with " +
				"--evergate-namespace, or create the ConfigMap first\n"},
		},
		"not native, with webhooks": {
			nativeCluster(t, system).webhookIn(system), partlyNative, nil, cli.Found,
			[]string{omission, partly + "to leave the rest to the webhooks, add --best-effort\n"},
		},
		"not native, without webhooks": {
			nativeCluster(t, system), partlyNative, nil, cli.Found,
			[]string{omission, partly + "without webhooks, nothing would enforce the rest; to apply the policy nevertheless, " +
				"add --best-effort\n"},
		},
		"best effort without webhooks": {
			nativeCluster(t, system), partlyNative, []string{"--best-effort"}, cli.Found,
			[]string{"evergate: not in the backstop: ", "evergate: there are no webhooks, so nothing would enforce the parts " +
				"that are not in the backstop, and there is no terminal for a confirmation: add --yes\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			args := append([]string{
				"apply", "-f", "-", "--no-plan", "--kubeconfig", kubeconfig(t, test.cluster.serve(t)),
			}, test.args...)
			code := run(t.Context(), args, strings.NewReader(test.policy), &out, &out)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in\n%s", want, &out)
				}
			}
		})
	}
}

// TestApplyRemovesNativePolicies applies a policy without any native part to a cluster with only native policies. Apply
// does not wait for replicas after it has removed the native policies.
func TestApplyRemovesNativePolicies(t *testing.T) {
	cluster := nativeCluster(t, "evergate-system")
	read := cluster.serve(t)
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			read(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.Method == http.MethodDelete && !bytes.Contains(body, []byte("dryRun")) {
			delete(cluster, path.Dir(r.URL.Path)) // each resource has only one object
		}
		(&writable{}).ServeHTTP(w, r)
	}
	only := strings.ReplaceAll(partlyNative, "types: {denied: [NodePort]}, ", "")
	var out bytes.Buffer
	code := run(t.Context(), []string{
		"apply", "-f", "-", "--no-plan", "--best-effort", "--yes", "--kubeconfig", kubeconfig(t, handler),
	}, strings.NewReader(only), &out, &out)
	if code != cli.OK || strings.Contains(out.String(), "no replicas") ||
		!strings.Contains(out.String(), "no part of the policy is native, so the backstop was removed") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}

// TestRejectedWrites rejects each request of apply and rollback that changes an object, or that tries it. The command
// then fails, and reports only changes that the API server has accepted.
func TestRejectedWrites(t *testing.T) {
	const system = "evergate-system"
	changed := strings.ReplaceAll(nativePolicy, "NodePort", "LoadBalancer")
	data, _ := json.Marshal(map[string]string{"policy.yaml": changed})
	// attempt runs a command and rejects request n. It returns the number of requests.
	attempt := func(command []string, n int) (requests int) {
		cluster := nativeCluster(t, system).add("/api/v1/namespaces/"+system+"/configmaps", system, "evergate-policy.r1",
			`"apiVersion": "v1", "kind": "ConfigMap", "data": `+string(data))
		revision := cluster["/api/v1/namespaces/"+system+"/configmaps"][1].(map[string]any)["metadata"].(map[string]any)
		revision["annotations"] = map[string]any{"evergate.dev/revision": "1"}
		read, done, rejected := cluster.serve(t), "", ""
		handler := func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				read(w, r)
				return
			}
			request := r.Method + " " + r.URL.Path + "\n"
			if requests++; requests-1 == n {
				rejected = request
				reject(w, http.StatusForbidden, "Forbidden")
				return
			}
			if r.URL.Query().Get("dryRun") == "" {
				done += request
			}
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			(&writable{}).ServeHTTP(w, r)
		}
		var out bytes.Buffer
		args := append(command, "--no-plan", "--yes", "--wait=false", "--kubeconfig", kubeconfig(t, handler))
		code := run(t.Context(), args, strings.NewReader(changed), &out, &out)
		if (code == cli.OK) != (rejected == "" || strings.Contains(rejected, "/selfsubjectreviews")) {
			t.Errorf("%s: exit code %d without %s%s", command[0], code, rejected, &out)
		}
		for says, needs := range map[string]string{
			"is applied to the ConfigMap": "PATCH /api/v1/namespaces/" + system + "/configmaps/evergate-policy\n",
			"\nrevision ":                 "POST /api/v1/namespaces/" + system + "/configmaps\n",
			"the backstop now enforces":   "PATCH " + admissionAPI,
		} {
			if strings.Contains(out.String(), says) && (!strings.Contains(done, needs) || strings.HasPrefix(rejected, needs)) {
				t.Errorf("%s: reports %q without %s%s", command[0], says, needs, &out)
			}
		}
		return requests
	}
	for _, command := range [][]string{{"apply", "-f", "-"}, {"rollback", "1"}} {
		all := attempt(command, -1)
		if all < 5 {
			t.Errorf("%s: only %d requests", command[0], all)
		}
		for n := range all {
			attempt(command, n)
		}
	}
}

// TestPreflightUnread checks that preflight does not take webhooks that may not be listed for absent.
func TestPreflightUnread(t *testing.T) {
	cluster := nativeCluster(t, "evergate-system")
	cluster[admissionAPI+"validatingwebhookconfigurations"] = nil
	var out bytes.Buffer
	code := run(t.Context(), []string{"preflight", "--kubeconfig", kubeconfig(t, cluster.serve(t))}, strings.NewReader(""),
		&out, &out)
	want := "evergate: these resources could not be listed, so the input does not show whether Evergate has webhooks " +
		"or a Deployment: validatingwebhookconfigurations (docs/preflight.md lists the permissions)\n"
	if code != cli.Usage || !strings.HasSuffix(out.String(), want) {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}

// TestScopeOfNativeOnly checks that without webhooks, plan and apply compare the objects in the namespaces that the
// native policies match.
func TestScopeOfNativeOnly(t *testing.T) {
	without := objects{}
	for _, test := range []struct {
		cluster objects
		by      string
		want    []string
	}{
		{nativeCluster(t, "evergate-system"), "native policies", []string{"team-a"}},
		{nativeCluster(t, "evergate-system").webhookIn("gate"), "webhooks", nil},
		{without, "webhooks", nil},
	} {
		test.cluster["/api/v1/namespaces"] = []any{
			map[string]any{"metadata": map[string]any{"name": "team-a", "labels": map[string]any{
				"evergate.dev/admission": "enabled", "kubernetes.io/metadata.name": "team-a",
			}}},
			map[string]any{"metadata": map[string]any{"name": "team-b", "labels": map[string]any{
				"kubernetes.io/metadata.name": "team-b",
			}}},
		}
		a := &app{namespace: "evergate-system", stderr: io.Discard}
		a.kubeconfig.ExplicitPath = kubeconfig(t, test.cluster.serve(t))
		c, err := a.connect()
		if err != nil {
			t.Fatal(err)
		}
		s, err := readScope(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(s.matched)); !slices.Equal(got, test.want) || s.by != test.by {
			t.Errorf("%s match %v, want %s and %v", s.by, got, test.by, test.want)
		}
	}
}

// TestExplainNativeOnly checks that explain does not report a Pod as unchecked if a native policy matches its
// namespace.
func TestExplainNativeOnly(t *testing.T) {
	const none = "No webhook matches the namespace default: its Pods are neither rewritten nor validated."
	const native = "No webhook matches the namespace default. It is matched by the native policies " +
		"evergate-pods-enforce.\n"
	for selector, want := range map[string]string{"Exists": native, "DoesNotExist": none} {
		cluster := nativeCluster(t, "evergate-system").add("/api/v1/namespaces/default/pods", "default", "web",
			`"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "nginx:1"}]}`)
		cluster["/api/v1/namespaces"] = nil
		for _, name := range []string{"evergate-system", "default"} {
			cluster["/api/v1/namespaces"] = append(cluster["/api/v1/namespaces"], map[string]any{
				"apiVersion": "v1", "kind": "Namespace",
				"metadata": map[string]any{"name": name, "labels": map[string]any{"team": "a"}},
			})
		}
		cluster.add(admissionAPI+"validatingadmissionpolicybindings", "", "evergate-pods-enforce", `
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "spec": {
			"matchResources": {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "`+selector+`"}]}}}`)
		var out bytes.Buffer
		code := run(t.Context(), []string{
			"explain", "web", "-n", "default", "--kubeconfig", kubeconfig(t, cluster.serve(t)),
		}, strings.NewReader(""), &out, &out)
		if code != cli.OK || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit code %d, want %q:\n%s", selector, code, want, &out)
		}
	}
}
