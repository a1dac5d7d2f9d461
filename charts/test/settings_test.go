package chart_test

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func failClosed() setting {
	return setting{"failureMode: fail-closed", func(o *overlay) { o.base = "fail-closed" }}
}

// settings returns each value of the chart with the overlay that has the same effect.
func settings() []setting {
	all := []setting{failClosed()}
	all = append(all, componentSettings()...)
	all = append(all, kustomizationSettings()...)
	return append(all, fieldSettings()...)
}

const serviceCA = "components: {serviceCA: true}" // removes objects of other components

// component is a value that switches a component of the manifests.
type component struct{ value, name string }

// components returns the components in the order in which the chart has them. The order matters, because openshift
// changes the Pods of the components before it.
func components() []component {
	return []component{
		{"components: {audit: true}", "audit"},
		{"components: {plugin: true}", "plugin"},
		{"components: {autoscaling: true}", "autoscaling"},
		{"traces: collector", "collector"},
		{"traces: jaeger", "jaeger"},
		{"traces: jaeger-v1", "jaeger-v1"},
		{"webhooks: {pods: false}", "no-pods"},
		{"webhooks: {ingressesAndServices: false}", "no-ingresses"},
		{"webhooks: {gatewayAPI: false}", "no-gateway-api"},
		{"webhooks: {openshiftRoutes: false}", "no-openshift-routes"},
		{"webhooks: {addOns: true}", "host-kinds"},
		{"components: {requirePolicy: true}", "require-policy"},
		{"components: {noZones: true}", "no-zones"},
		{"components: {clientCertificate: true}", "client-certificate"},
		{"components: {clientAuth: true}", "client-auth"},
		{"components: {backstop: true}", "backstop"},
		{"components: {matchAllNamespaces: true}", "match-all-namespaces"},
		{"components: {preflight: true}", "preflight"},
		{"components: {openshift: true}", "openshift"},
		{"components: {prometheus: true}", "prometheus"},
		{serviceCA, "service-ca"},
	}
}

// componentSettings switches each component.
func componentSettings() []setting {
	var all []setting
	for _, c := range components() {
		all = append(all, setting{c.value, func(o *overlay) { o.components = append(o.components, c.name) }})
	}
	removed := func(values string, patches ...any) setting {
		return setting{values, func(o *overlay) { o.patches = append(o.patches, patches...) }}
	}
	return append(all,
		removed("components: {networkPolicy: false}", mapPatch("NetworkPolicy", "evergate", `{$patch: delete}`)),
		removed("components: {certManager: false}",
			mapPatch("Issuer|Certificate", "evergate-(self-signed|ca|tls)", `{$patch: delete}`),
			patch(".*WebhookConfiguration", "evergate", // add, because service-ca has removed it
				`[{op: add, path: &ca /metadata/annotations/cert-manager.io~1inject-ca-from, value: ""}, {op: remove, path: *ca}]`),
		),
	)
}

// kustomizationSettings changes values that kustomize copies.
func kustomizationSettings() []setting {
	field := func(values, name string, content any) setting {
		return setting{values, func(o *overlay) {
			if o.fields == nil {
				o.fields = map[string]any{}
			}
			o.fields[name] = content
		}}
	}
	const image = "ghcr.io/evergate/evergate"
	digest := "sha256:" + strings.Repeat("0a", 32)
	patched := func(values string, patches ...any) setting {
		return setting{values, func(o *overlay) { o.patches = append(o.patches, patches...) }}
	}
	return []setting{
		field("# helm install --namespace platform-admission", "namespace", "platform-admission"),
		field("image: {repository: mirror.corp.example/evergate, tag: v9}", "images",
			[]any{map[string]any{"name": image, "newName": "mirror.corp.example/evergate", "newTag": "v9"}}),
		field("image: {digest: "+digest+"}", "images", []any{map[string]any{"name": image, "digest": digest}}),
		field("labels: {team: platform}", "labels",
			[]any{map[string]any{"pairs": map[string]any{"team": "platform"}, "includeTemplates": true}}),
		patched("mirrors: [a.example/, b.example/x/]", mapPatch("ConfigMap", "evergate-settings",
			`{data: {mirrors: '["a.example/","b.example/x/"]'}}`)),
		patched("monitoringNamespace: metrics", mapPatch("ConfigMap", "evergate-settings",
			`{data: {monitoringNamespace: metrics}}`)),
		patched("collector: http://otel.tracing.svc:14317", mapPatch("ConfigMap", "evergate-settings",
			`{data: {collector: "http://otel.tracing.svc:14317"}}`)),
		patched("exemptNamespaces: [team-storage, team-network]", patch("ExemptNamespaces", "evergate",
			`[{op: add, path: /names/-, value: team-storage}, {op: add, path: /names/-, value: team-network}]`)),
	}
}

// fieldSettings changes values of single fields. A patch with a target does not apply to an object that an overlay does
// not have. The patches are JSON patches, because a strategic merge patch changes the order of lists.
func fieldSettings() []setting {
	s := func(values string, patches ...any) setting {
		return setting{values, func(o *overlay) { o.patches = append(o.patches, patches...) }}
	}
	const server = "/spec/template/spec/containers/0"
	pod := func(fields string) []any {
		return []any{
			mapPatch("Deployment|Job", ".*", `{spec: {template: {spec: {`+fields+`}}}}`),
			mapPatch("CronJob", ".*", `{spec: {jobTemplate: {spec: {template: {spec: {`+fields+`}}}}}}`),
		}
	}
	const resources = `{requests: {cpu: 200m, memory: 128Mi}, limits: {memory: 1Gi}}`
	const affinity = `{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack}]}}`
	const tolerations = `[{key: dedicated, operator: Exists}]`
	const spread = `[{topologyKey: rack, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]`
	const annotations = `{argocd.argoproj.io/sync-wave: "1"}`
	annotate := func(kind, name string) any {
		return mapPatch(kind, name, `{metadata: {annotations: `+annotations+`}}`)
	}
	return []setting{
		s("enabled: true"), // see TestUmbrella
		{"replicas: 5", func(o *overlay) {
			if !slices.Contains(o.components, "autoscaling") {
				o.patches = append(o.patches, mapPatch("Deployment", "evergate", `{spec: {replicas: 5}}`))
			}
		}},
		s("resources: "+resources, set("Deployment", "evergate", server+"/resources", resources)),
		{"goMemoryLimit: 800MiB", func(o *overlay) {
			path := server + "/env/4/value"
			if o.traces() {
				path = server + "/env/8/value" // the environment of traces comes first
			}
			o.patches = append(o.patches, set("Deployment", "evergate", path, "800MiB"))
		}},
		{`tracesRatio: "0.1"`, func(o *overlay) {
			if o.traces() {
				o.patches = append(o.patches, set("Deployment", "evergate", server+"/env/3/value", `"0.1"`))
			}
		}},
		s("priorityClassName: critical", set("Deployment", "evergate", "/spec/template/spec/priorityClassName", "critical")),
		s("imagePullPolicy: Always", set("Deployment", "evergate", server+"/imagePullPolicy", "Always")),
		s("imagePullSecrets: [{name: mirror}]", set("ServiceAccount", ".*", "/imagePullSecrets", "[{name: mirror}]")),
		s("podAnnotations: {example.com/a: b}", mapPatch("Deployment", "evergate",
			`{spec: {template: {metadata: {annotations: {example.com/a: b}}}}}`)),
		s("podLabels: {example.com/a: b}", mapPatch("Deployment", "evergate",
			`{spec: {template: {metadata: {labels: {example.com/a: b}}}}}`)),
		s("deploymentAnnotations: "+annotations, annotate("Deployment", "evergate")),
		s("serviceAccountAnnotations: "+annotations, annotate("ServiceAccount", ".*")),
		s("webhookAnnotations: "+annotations, annotate(".*WebhookConfiguration", "evergate")),
		s("topologySpreadConstraints: "+spread,
			set("Deployment", "evergate", "/spec/template/spec/topologySpreadConstraints", spread)),
		s("extraArgs: [--max-connections=100]",
			set("Deployment", "evergate", server+"/args/-", "--max-connections=100")),
		s("nodeSelector: {kubernetes.io/os: linux, pool: system}", pod(`nodeSelector: {pool: system}`)...),
		s("tolerations: "+tolerations,
			set("Deployment", "evergate", "/spec/template/spec/tolerations/-", "{key: dedicated, operator: Exists}"),
			set("Deployment", "evergate-jaeger", "/spec/template/spec/tolerations", tolerations),
			set("Job", ".*", "/spec/template/spec/tolerations", tolerations),
			set("CronJob", ".*", "/spec/jobTemplate/spec/template/spec/tolerations", tolerations)),
		s("affinity: "+affinity, set("Deployment", "evergate", "/spec/template/spec/affinity", affinity)),
		s("env: [{name: EVERGATE_LOG_LEVEL, value: debug}]",
			set("Deployment", "evergate", server+"/env/-", "{name: EVERGATE_LOG_LEVEL, value: debug}")),
		s(`audit: {schedule: "0 4 * * *"}`, set("CronJob", "evergate-audit", "/spec/schedule", `"0 4 * * *"`)),
		s("audit: {metricsPushURL: http://push.monitoring:9091}", set("CronJob", "evergate-audit",
			"/spec/jobTemplate/spec/template/spec/containers/0/env/0/value", "http://push.monitoring:9091")),
		s("audit: {resources: "+resources+"}", set("CronJob", "evergate-audit",
			"/spec/jobTemplate/spec/template/spec/containers/0/resources", resources)),
		s("autoscaling: {minReplicas: 4, maxReplicas: 8}",
			set("HorizontalPodAutoscaler", "evergate", "/spec/minReplicas", "4"),
			set("HorizontalPodAutoscaler", "evergate", "/spec/maxReplicas", "8")),
		s("autoscaling: {metrics: [{type: Pods}]}",
			set("HorizontalPodAutoscaler", "evergate", "/spec/metrics", "[{type: Pods}]")),
		s("jaeger: {image: mirror.corp.example/jaeger}",
			set("Deployment", "evergate-jaeger", server+"/image", "mirror.corp.example/jaeger")),
		s("jaeger: {resources: "+resources+"}", set("Deployment", "evergate-jaeger", server+"/resources", resources)),
		s("preflight: {kubectlImage: mirror.corp.example/kubectl}",
			set("Job", "evergate-preflight", "/spec/template/spec/initContainers/0/image", "mirror.corp.example/kubectl"),
			set("Job", "evergate-preflight", "/spec/template/spec/initContainers/1/image", "mirror.corp.example/kubectl")),
		s("prometheus: {labels: {release: prometheus}}",
			mapPatch("PodMonitor|PrometheusRule", ".*", `{metadata: {labels: {release: prometheus}}}`)),
	}
}

// traces reports whether the overlay has a component that sends traces.
func (o *overlay) traces() bool {
	return slices.ContainsFunc(o.components, func(c string) bool {
		return c == "collector" || strings.HasPrefix(c, "jaeger")
	})
}

// set is a JSON patch that sets a field to a value, as YAML.
func set(kind, name, path, value string) any {
	// add replaces a field that exists.
	return patch(kind, name, `[{op: add, path: `+path+`, value: `+value+`}]`)
}

// patch is a JSON patch, as YAML, for the objects of a kind and a name.
func patch(kind, name, ops string) any {
	data, err := yaml.YAMLToJSON([]byte(ops)) // kustomize accepts only JSON on one line
	if err != nil {
		panic(err)
	}
	return map[string]any{"target": map[string]any{"kind": kind, "name": name}, "patch": string(data)}
}

// mapPatch is a strategic merge patch for the objects of a kind and a name.
func mapPatch(kind, name, fields string) any {
	var patch map[string]any
	if err := yaml.Unmarshal([]byte(fields), &patch); err != nil {
		panic(err)
	}
	meta, ok := patch["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
	}
	meta["name"] = "any" // the target replaces it
	patch["apiVersion"], patch["kind"], patch["metadata"] = "any/v1", "Any", meta
	text, err := yaml.Marshal(patch)
	if err != nil {
		panic(err)
	}
	return map[string]any{"target": map[string]any{"kind": kind, "name": name}, "patch": string(text)}
}
