{{- /* The image of Evergate, with the digest if there is one. */}}
{{- define "evergate.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end }}

{{- /* The labels of the objects that are always installed. */}}
{{- define "evergate.labels" -}}
{{- with .Values.labels }}
{{- toYaml . }}
{{ end -}}
app.kubernetes.io/name: evergate
app.kubernetes.io/part-of: evergate
{{- end }}

{{- /* The labels by which the Service and others select the replicas. */}}
{{- define "evergate.selector" -}}
app.kubernetes.io/name: evergate
app.kubernetes.io/component: webhook
{{- end }}

{{- /* The security context of each container. */}}
{{- define "evergate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* The security context of Pods that run the image of Evergate. OpenShift chooses the user and the groups. */}}
{{- define "evergate.podSecurity" -}}
runAsNonRoot: true
{{- if not .Values.components.openshift }}
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
{{- end }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* The sources of a volume with a token for the API server. */}}
{{- define "evergate.token" -}}
- serviceAccountToken: {path: token, expirationSeconds: 3600}
- configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}

{{- /* failurePolicy of the webhooks that follow failureMode. */}}
{{- define "evergate.failurePolicy" -}}
{{ ternary "Ignore" "Fail" (eq .Values.failureMode "fail-open") }}
{{- end }}

{{- /* The namespaces that no webhook matches, whatever their labels. The lists are in kustomize/base/exempt-namespaces.yaml
and in the components match-all-namespaces and openshift. */}}
{{- define "evergate.exemptNamespaces" -}}
- {{ .Release.Namespace | quote }}
- kube-system
- kube-public
- kube-node-lease
- cert-manager
{{- if .Values.components.matchAllNamespaces }}
- calico-system
- cilium
- kube-flannel
- longhorn-system
- openebs
- rook-ceph
- tigera-operator
- gke-gmp-system
- gke-managed-cim
- gke-managed-system
- gke-managed-volumepopulator
- gmp-public
- gmp-system
- amazon-cloudwatch
- amazon-guardduty
- aks-command
- app-routing-system
- gatekeeper-system
{{- end }}
{{- if .Values.components.openshift }}
- openshift-apiserver
- openshift-apiserver-operator
- openshift-authentication
- openshift-authentication-operator
- openshift-cloud-controller-manager
- openshift-cloud-controller-manager-operator
- openshift-cloud-credential-operator
- openshift-cloud-network-config-controller
- openshift-cluster-csi-drivers
- openshift-cluster-machine-approver
- openshift-cluster-node-tuning-operator
- openshift-cluster-storage-operator
- openshift-cluster-version
- openshift-config
- openshift-config-managed
- openshift-config-operator
- openshift-console
- openshift-console-operator
- openshift-controller-manager
- openshift-controller-manager-operator
- openshift-dns
- openshift-dns-operator
- openshift-etcd
- openshift-etcd-operator
- openshift-host-network
- openshift-image-registry
- openshift-infra
- openshift-ingress
- openshift-ingress-canary
- openshift-ingress-operator
- openshift-insights
- openshift-kube-apiserver
- openshift-kube-apiserver-operator
- openshift-kube-controller-manager
- openshift-kube-controller-manager-operator
- openshift-kube-scheduler
- openshift-kube-scheduler-operator
- openshift-kube-storage-version-migrator
- openshift-kube-storage-version-migrator-operator
- openshift-machine-api
- openshift-machine-config-operator
- openshift-marketplace
- openshift-monitoring
- openshift-multus
- openshift-network-diagnostics
- openshift-network-node-identity
- openshift-network-operator
- openshift-node
- openshift-oauth-apiserver
- openshift-operator-lifecycle-manager
- openshift-ovn-kubernetes
- openshift-route-controller-manager
- openshift-sdn
- openshift-service-ca
- openshift-service-ca-operator
- openshift-user-workload-monitoring
{{- end }}
{{- with .Values.exemptNamespaces }}
{{ toYaml . }}
{{- end }}
{{- end }}
