package chart

import (
	"slices"
	"strings"
)

// kind is the type of a value.
type kind string

const (
	stringKind  kind = "string"
	intKind     kind = "integer"
	boolKind    kind = "boolean"
	listKind    kind = "array"
	mappingKind kind = "object"
)

// Marks are rendered into the manifests in place of values, where kustomize copies a setting to several fields.
const (
	markNamespace  = "zz-namespace-zz"
	markImage      = "zz-image-zz:zz-tag-zz"
	markMirrors    = `["zz-mirrors-zz/"]`
	markMonitoring = "zz-monitoring-zz"
	markCollector  = "http://zz-collector-zz.zz-observability-zz.svc:65001"
	markTraces     = "zz-observability-zz"
	markPort       = "65001"
	markExempt     = "zz-exempt-zz"
	markLabel      = "zz-label-zz"
)

// marks returns the template actions that replace the marks.
func marks() map[string]string {
	return map[string]string{
		markNamespace:  "{{ .Values.namespace }}",
		markImage:      `{{ include "evergate.image" . }}`,
		markMirrors:    "{{ toJson .Values.mirrors }}",
		markMonitoring: "{{ .Values.monitoringNamespace }}",
		markCollector:  "{{ .Values.collector }}",
		markTraces:     `{{ index (splitList "." .Values.collector) 1 }}`,
		markPort:       `{{ last (splitList ":" .Values.collector) }}`,
	}
}

// parameter is a value of the chart that is written into fields of the rendered objects.
type parameter struct {
	path     string
	kind     kind
	sentence string
	// objects are the objects with the field, as Kind or Kind/name.
	objects []string
	// field is the path of the field. An element name=x is an element of a list.
	field []string
	how   how
}

// how defines how a parameter changes a field.
type how int

const (
	replace  how = iota // the field has the value, and its content is the default
	add                 // the value adds elements to the field
	optional            // the field exists if the value is not empty
	override            // the field has the value, or its content if the value is empty
)

// parameters returns the parameters of fields.
func parameters() []parameter { return slices.Concat(podParameters(), componentParameters()) }

// The fields of a Pod in a Deployment or a Job, and in a CronJob.
func podField(field ...string) []string {
	return slices.Concat([]string{"spec", "template", "spec"}, field)
}
func jobField(field ...string) []string {
	return slices.Concat([]string{"spec", "jobTemplate", "spec", "template", "spec"}, field)
}

// serverField is a field of the container of evergate serve.
func serverField(field ...string) []string {
	return slices.Concat(podField("containers", "name=evergate"), field)
}

// podParameters returns the parameters of the replicas, and of all Pods of the chart.
func podParameters() []parameter {
	deployment := []string{"Deployment/evergate"}
	return []parameter{
		{"replicas", intKind, "The number of replicas. The component autoscaling ignores it.", deployment,
			[]string{"spec", "replicas"}, replace},
		{"resources", mappingKind, "The CPU and memory of a replica.", deployment, serverField("resources"), replace},
		{"goMemoryLimit", stringKind, "GOMEMLIMIT of a replica: about four fifths of its memory limit.", deployment,
			serverField("env", "name=GOMEMLIMIT", "value"), replace},
		{"env", listKind, "More environment variables of a replica, such as EVERGATE_LOG_LEVEL.", deployment,
			serverField("env"), add},
		{"imagePullPolicy", stringKind, "The pull policy of the replicas, if the default is not right.", deployment,
			serverField("imagePullPolicy"), optional},
		{"imagePullSecrets", listKind, "Pull secrets, on the service accounts of Evergate.", []string{"ServiceAccount"},
			[]string{"imagePullSecrets"}, optional},
		{"priorityClassName", stringKind, "The priority class of the replicas.", deployment,
			podField("priorityClassName"), replace},
		{"podAnnotations", mappingKind, "More annotations on the replicas.", deployment,
			[]string{"spec", "template", "metadata", "annotations"}, add},
		{"nodeSelector", mappingKind, "The node labels that all Pods of the chart require.",
			[]string{"Deployment", "Job"}, podField("nodeSelector"), replace},
		{"nodeSelector", mappingKind, "", []string{"CronJob"}, jobField("nodeSelector"), replace},
		{"tolerations", listKind, "More tolerations of all Pods of the chart.",
			[]string{"Deployment", "Job"}, podField("tolerations"), add},
		{"tolerations", listKind, "", []string{"CronJob"}, jobField("tolerations"), add},
		{"affinity", mappingKind, "The affinity of the replicas.", deployment, podField("affinity"), optional},
	}
}

// componentParameters returns the parameters of components.
func componentParameters() []parameter {
	deployment := []string{"Deployment/evergate"}
	return []parameter{
		{"audit.schedule", stringKind, "When the audit runs.", []string{"CronJob/evergate-audit"},
			[]string{"spec", "schedule"}, replace},
		{"audit.metricsPushURL", stringKind, "The address of a Pushgateway for the counts of the audit.",
			[]string{"CronJob/evergate-audit"},
			jobField("containers", "name=review", "env", "name=EVERGATE_METRICS_PUSH_URL", "value"), replace},
		{"audit.resources", mappingKind, "The CPU and memory of the audit.", []string{"CronJob/evergate-audit"},
			jobField("containers", "name=review", "resources"), replace},
		{"autoscaling.minReplicas", intKind, "The minimum number of replicas.",
			[]string{"HorizontalPodAutoscaler/evergate"}, []string{"spec", "minReplicas"}, replace},
		{"autoscaling.maxReplicas", intKind, "The maximum number of replicas.",
			[]string{"HorizontalPodAutoscaler/evergate"}, []string{"spec", "maxReplicas"}, replace},
		{"autoscaling.metrics", listKind, "The metrics that the number of replicas follows.",
			[]string{"HorizontalPodAutoscaler/evergate"}, []string{"spec", "metrics"}, replace},
		{"tracesRatio", stringKind, "The ratio of reviews that are traced, from 0 to 1.", deployment,
			serverField("env", "name=OTEL_TRACES_SAMPLER_ARG", "value"), replace},
		{"jaeger.image", stringKind, "The image of Jaeger, if it comes from a mirror.",
			[]string{"Deployment/evergate-jaeger"}, podField("containers", "name=jaeger", "image"), override},
		{"jaeger.resources", mappingKind, "The CPU and memory of Jaeger.",
			[]string{"Deployment/evergate-jaeger"}, podField("containers", "name=jaeger", "resources"), replace},
		{"preflight.kubectlImage", stringKind, "The image of kubectl in the preflight Job.",
			[]string{"Job/evergate-preflight"}, podField("initContainers", "name=collect-cluster", "image"), replace},
		{"preflight.kubectlImage", stringKind, "",
			[]string{"Job/evergate-preflight"}, podField("initContainers", "name=collect-namespace", "image"), replace},
		{"prometheus.labels", mappingKind, "Labels by which your Prometheus selects monitors and rules.",
			[]string{"PodMonitor", "PrometheusRule"}, []string{"metadata", "labels"}, add},
	}
}

// selects reports whether a parameter is about an object.
func (p *parameter) selects(kind, name string) bool {
	return slices.Contains(p.objects, kind) || slices.Contains(p.objects, kind+"/"+name)
}

// apply puts the value into the field of an object. It returns the content of the field before, or nil if the object
// does not have the field.
func (p *parameter) apply(object map[string]any) any {
	x := expr{path: p.path, kind: p.kind}
	last := p.field[len(p.field)-1]
	parent := lookup(object, p.field[:len(p.field)-1])
	if parent == nil {
		return nil
	}
	was, exists := parent[last]
	switch p.how {
	case replace:
		if exists {
			parent[last] = x
		}
	case override:
		if text, ok := was.(string); ok {
			x.or = text
			parent[last] = x
		}
	case optional:
		x.with = true
		parent[last] = x
	case add:
		x.with = true
		if p.kind == listKind {
			list, _ := was.([]any)
			parent[last] = append(slices.Clone(list), x)
			break
		}
		mapping, ok := was.(map[string]any)
		if !ok {
			mapping = map[string]any{}
			parent[last] = mapping
		}
		mapping[spliceKey+p.path] = x
	}
	return was
}

// lookup returns the mapping at a path, or nil.
func lookup(object map[string]any, field []string) map[string]any {
	for i, key := range field {
		if strings.HasPrefix(key, "name=") { // an element of the list before
			continue
		}
		if i+1 < len(field) && strings.HasPrefix(field[i+1], "name=") {
			list, _ := object[key].([]any)
			object = nil
			for _, element := range list {
				m, ok := element.(map[string]any)
				if ok && m["name"] == strings.TrimPrefix(field[i+1], "name=") {
					object = m
				}
			}
		} else {
			object, _ = object[key].(map[string]any)
		}
		if object == nil {
			return nil
		}
	}
	return object
}
