package kit

import (
	"regexp"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// withJaeger returns the Deployments of an overlay with one of the Jaeger components.
func withJaeger(t *testing.T, component string) map[string]*appsv1.Deployment {
	t.Helper()
	k := read(t)
	return rendered[*appsv1.Deployment](t, k, k.add(t, `
resources: [../../kustomize/overlays/fail-open]
components: [../../kustomize/components/`+component+`]
transformers: [../../kustomize/wiring]`))
}

// TestJaegerVersions checks that the manifests have Jaeger 2, and as an alternative Jaeger 1, which the tests of traces
// use. Each needs a configuration that the other does not understand.
func TestJaegerVersions(t *testing.T) {
	tested := regexp.MustCompile(`jaegertracing/jaeger v(\S+)`).FindSubmatch(readFile(t, root+"/tools/jaeger/go.mod"))
	if tested == nil {
		t.Fatal("tools/jaeger/go.mod does not contain Jaeger")
	}
	type configured struct {
		Image, Ready string
		Args         []string
		Storage      bool // SPAN_STORAGE_TYPE
		Ports        map[string]int32
	}
	ports := func(name string, port int32) map[string]int32 {
		return map[string]int32{"otlp-grpc": 4317, "otlp-http": 4318, "query": 16686, name: port}
	}
	for component, want := range map[string]configured{
		"jaeger": {
			Image: "docker.io/jaegertracing/jaeger:2.21.0", Ready: "health/status", Ports: ports("health", 13133),
			Args: []string{"--set=extensions.jaeger_storage.backends.some_storage.memory.max_traces=20000"},
		},
		"jaeger-v1": {
			Image: "docker.io/jaegertracing/all-in-one:" + string(tested[1]), Ready: "admin/", Ports: ports("admin", 14269),
			Args: []string{"--memory.max-traces=20000"}, Storage: true,
		},
	} {
		c := withJaeger(t, component)["evergate-jaeger"].Spec.Template.Spec.Containers[0]
		get := c.ReadinessProbe.HTTPGet
		got := configured{Image: c.Image, Ready: get.Port.StrVal + get.Path, Args: c.Args, Ports: map[string]int32{}}
		for _, p := range c.Ports {
			got.Ports[p.Name] = p.ContainerPort
		}
		for _, e := range c.Env {
			got.Storage = got.Storage || e.Name == "SPAN_STORAGE_TYPE"
		}
		equal(t, want, got, component)
	}
}

// TestJaegersAreAlike checks that the two components are the same, except for the Jaeger container.
func TestJaegersAreAlike(t *testing.T) {
	second, first := withJaeger(t, "jaeger"), withJaeger(t, "jaeger-v1")
	for _, d := range []map[string]*appsv1.Deployment{first, second} {
		c := &d["evergate-jaeger"].Spec.Template.Spec.Containers[0]
		c.Image, c.Args, c.Ports, c.ReadinessProbe = "", nil, nil, nil
		c.Env = withoutVariable(c.Env, "SPAN_STORAGE_TYPE")
	}
	equal(t, second, first, "jaeger and jaeger-v1")
}

func withoutVariable(env []corev1.EnvVar, name string) []corev1.EnvVar {
	var others []corev1.EnvVar
	for _, e := range env {
		if e.Name != name {
			others = append(others, e)
		}
	}
	return others
}
