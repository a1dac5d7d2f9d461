{{- /* Webhooks of a configuration: list $ ENTRIES. An entry has the fields of a webhook except those that are equal in all
webhooks. path is the path of the Service, and group is a key of the value webhooks. */}}
{{- define "evergate.webhooks" -}}
{{- $ := index . 0 }}
{{- range index . 1 }}
{{- if or (not .group) (index $.Values.webhooks .group) }}
- name: {{ .name }}
  clientConfig:
    service: {namespace: {{ $.Release.Namespace | quote }}, name: evergate, path: {{ .path }}, port: 443}
  rules: {{- toYaml .rules | nindent 2 }}
  namespaceSelector: {{- .namespaceSelector | default (include "evergate.namespaceSelector" $ | fromYaml) | toYaml | nindent 4 }}
  matchConditions: {{- toYaml .matchConditions | nindent 2 }}
  failurePolicy: {{ .failurePolicy }}
  {{- with .reinvocationPolicy }}
  reinvocationPolicy: {{ . }}
  {{- end }}
  matchPolicy: Equivalent
  sideEffects: None
  timeoutSeconds: 3
  admissionReviewVersions: [v1]
{{- end }}
{{- end }}
{{- end }}

{{- /* The namespaces that have opted in, or that have not opted out. */}}
{{- define "evergate.namespaceSelector" -}}
matchExpressions:
- key: evergate.dev/admission
  {{- if .Values.components.matchAllNamespaces }}
  operator: NotIn
  values: [disabled]
  {{- else }}
  operator: In
  values: [enabled]
  {{- end }}
- key: kubernetes.io/metadata.name
  operator: NotIn
  values: {{- include "evergate.exemptNamespaces" . | nindent 2 }}
{{- end }}

{{- /* The annotations of both configurations. */}}
{{- define "evergate.webhookAnnotations" -}}
{{- with .Values.webhookAnnotations }}
{{- toYaml . }}
{{ end -}}
admissions.enforcer/disabled: "true"
{{- if .Values.components.serviceCA }}
service.beta.openshift.io/inject-cabundle: "true"
{{- else if .Values.components.certManager }}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/evergate-tls
{{- end }}
{{- end }}
