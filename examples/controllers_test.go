package examples_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// TestControllers checks that no example policy and no recipe in the documentation denies objects that well-known
// controllers create. It leaves out hosts, because the same rules also apply to the objects that a tenant writes.
func TestControllers(t *testing.T) {
	// Denials that are intended.
	const edgeRecipe = "Recipe: TLS on every Ingress, load balancers only in edge"
	meant := map[string]string{
		"hardened.yaml gateway-services.yaml":            "load balancers are only in ingress-*",
		"overlays/platform/policy gateway-services.yaml": "load balancers are only in ingress-nginx",
		"hardened.yaml cilium-ingress.yaml":              "load balancers are only in ingress-*",
		"overlays/platform/policy cilium-ingress.yaml":   "load balancers are only in ingress-nginx",
		"team.yaml cilium-ingress.yaml":                  "load balancers are internal",

		edgeRecipe + " cilium-ingress.yaml": "load balancers are only in edge",
	}
	all := controlledPolicies(t)
	if len(all) < 15 {
		t.Fatalf("found only %d policies", len(all))
	}
	user := regexp.MustCompile(`(?m)^# user: (\S+)$`)
	for _, file := range glob(t, "testdata/controllers/*.yaml") {
		data := must(os.ReadFile(file))
		as := user.FindSubmatch(data)
		if as == nil {
			t.Fatalf("%s does not contain its user", file)
		}
		for name, p := range all {
			report := offline.Review(offline.Options{Policy: p, Namespace: "team-a", User: string(as[1]), Sets: p.Sets()},
				offline.Read([]string{file}, nil))
			found := denials(report)
			if len(report.Errors) > 0 {
				t.Errorf("%s: %v", file, report.Errors)
			}
			key := name + " " + filepath.Base(file)
			if _, expected := meant[key]; expected != (len(found) > 0) {
				t.Errorf("%s denies: %v", key, found)
			}
		}
	}
}

// TestControllerExclusions checks each exclude in the table of docs/policy/solver-accounts.md: without it, a rule of the
// row denies an object of the controller, and with it, the rule does not.
func TestControllerExclusions(t *testing.T) {
	const external, required = "services: [{externalNames: {}", "routes: [{annotations: {required: [{key: team}]}"
	const service, externalName = "v1, kind: Service, spec: ", "{type: ExternalName, externalName: a.knative-serving.svc}"
	rows := map[string]struct{ rule, object string }{
		"Knative":          {external, service + externalName},
		"Knative Eventing": {external, service + externalName},
		"Tailscale":        {external, service + externalName},
		"Knative with `net-gateway-api`": {required,
			"gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {hostnames: [hello.team-a.svc.cluster.local]}"},
		"Argo Rollouts with ingress-nginx": {"ingresses: [{tls: {required: true}",
			"networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: shop.example}]}"},
		"Istio with waypoints": {"gateways: [{protocols: {allowed: [HTTPS]}", "gateway.networking.k8s.io/v1, kind: Gateway," +
			" spec: {gatewayClassName: istio-waypoint, listeners: [{name: mesh, port: 15008, protocol: HBONE}]}"},
		"Cilium Ingress in dedicated mode": {"services: [{types: {denied: [LoadBalancer]}", service + "{type: LoadBalancer}"},
		"OpenShift":                        {required, "route.openshift.io/v1, kind: Route, spec: {host: shop.example}"},
	}
	page := must(os.ReadFile("../docs/policy/solver-accounts.md"))
	row := regexp.MustCompile("(?m)^\\| ([^|]+) \\|.*(?:exclude: ({.*})`|The same, with `(.*)`) \\|$")
	users := regexp.MustCompile(`users: \["(.*)"\]`)
	found := row.FindAllStringSubmatch(string(page), -1)
	for _, m := range found {
		exclude := m[2]
		if exclude == "" {
			exclude = `{users: ["` + m[3] + `"]}`
		}
		user := "jane"
		if u := users.FindStringSubmatch(exclude); u != nil {
			user = strings.ReplaceAll(u[1], "*", "controller")
		}
		for _, field := range []string{"", ", exclude: " + exclude} {
			text := "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + rows[m[1]].rule + field +
				", name: r, mode: enforce}]\n"
			p, err := policy.Load(policy.File{Name: m[1], Data: []byte(text)})
			if err != nil {
				t.Errorf("%s: %v", m[1], err)
				continue
			}
			manifest := strings.NewReader("{metadata: {name: a}, apiVersion: " + rows[m[1]].object + "}")
			got := denials(offline.Review(offline.Options{Policy: p, Namespace: "team-a", User: user},
				offline.Read([]string{offline.Stdin}, manifest)))
			if denied := field == ""; denied != (len(got) > 0) {
				t.Errorf("%s: %q denies %q", m[1], field, got)
			}
		}
	}
	if len(found) != len(rows) {
		t.Errorf("the page has %d exclusions, and %d are tested", len(found), len(rows))
	}
}

// denials returns the findings that deny an object or its Pods, except findings about hosts.
func denials(r *offline.Report) (all []string) {
	for _, result := range r.Results {
		for _, f := range result.Findings {
			ofHosts := strings.Contains(f.ID, "/hosts.") || strings.HasSuffix(f.ID, "/owners")
			if (f.Effect == offline.Denial || f.PodsDenied) && !ofHosts {
				all = append(all, result.Kind+" "+result.Name+": "+f.ID+": "+f.Path+": "+f.Message)
			}
		}
	}
	return all
}

// controlledPolicies returns the example policies, the policies of the overlays, and the recipes in docs/policy, by
// name.
func controlledPolicies(t *testing.T) map[string]*policy.Policy {
	t.Helper()
	all := map[string]*policy.Policy{}
	for _, file := range policies(t) {
		all[filepath.Base(file)] = load(t, file)
	}
	for _, file := range []string{"overlays/backstop/policy.yaml", "overlays/rule-sets/policy.yaml"} {
		all[file] = load(t, file)
	}
	var files []policy.File
	for _, file := range glob(t, "overlays/platform/policy/*.yaml") {
		data := must(os.ReadFile(file))
		files = append(files, policy.File{Name: file, Data: data})
	}
	all["overlays/platform/policy"] = must(policy.Load(files...))
	recipe := regexp.MustCompile("(?ms)^### (Recipe: [^\n]*)\n.*?^```yaml\n(.*?)^```")
	recipes := 0
	for _, page := range glob(t, "../docs/policy/*.md") {
		text := must(os.ReadFile(page))
		for _, m := range recipe.FindAllSubmatch(text, -1) {
			data := slices.Concat([]byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"), m[2])
			all[string(m[1])] = must(policy.Load(policy.File{Name: string(m[1]), Data: data}))
			recipes++
		}
	}
	if recipes == 0 {
		t.Fatal("docs/policy has no recipes")
	}
	operators := `
templates:
- {group: flink.apache.org, versions: [v1beta1], kind: FlinkDeployment, resource: flinkdeployments, paths: [spec.podTemplate]}
- {group: elasticsearch.k8s.elastic.co, versions: [v1], kind: Elasticsearch, resource: elasticsearches, paths: ["spec.nodeSets.*.podTemplate"]}
- {group: mongodbcommunity.mongodb.com, versions: [v1], kind: MongoDBCommunity, resource: mongodbcommunity, paths: [spec.statefulSet.spec.template]}
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
pods:
- name: all
  mode: enforce
  workloads: enforce
  images: {from: mirrors, allowed: [quay.io/jetstack, cr.l5d.io/linkerd, gcr.io/knative-releases, registry.istio.io], deniedTags: [latest]}
`
	all["operators"] = must(policy.Load(policy.File{Name: "operators", Data: []byte(
		"apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + operators)}))
	return all
}
