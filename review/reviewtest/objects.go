package reviewtest

import (
	"fmt"
	"slices"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Pod returns a Pod as it reaches mutating webhooks: defaulted, completed by the admission plugins that come first, and
// without uid, creation time and status yet. It has so many containers, and so many environment variables in each: with
// none it is as bare as kubectl run makes it, otherwise a ReplicaSet owns it.
func Pod(containers, env int) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      "shop",
			Namespace: "team-shop",
			Labels:    map[string]string{"app.kubernetes.io/name": "shop"},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(30)),
			DNSPolicy:                     corev1.DNSClusterFirst,
			SecurityContext:               &corev1.PodSecurityContext{},
			SchedulerName:                 corev1.DefaultSchedulerName,
			EnableServiceLinks:            new(true),
		},
	}
	for i := range containers {
		p.Spec.Containers = append(p.Spec.Containers, container(i, env))
	}
	if env > 0 {
		own(p)
	}
	manage(p, "v1")
	complete(&p.Spec)
	return p
}

// Deployment returns a Deployment as it reaches validating webhooks, with a template of Pod(containers, env).
func Deployment(containers, env int) *appsv1.Deployment {
	pod := Pod(containers, env)
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "team-shop",
			Labels: map[string]string{"app.kubernetes.io/name": "shop"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "shop"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      map[string]string{"app.kubernetes.io/name": "shop"},
					Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
				},
				Spec: pod.Spec,
			},
			RevisionHistoryLimit:    new(int32(10)),
			ProgressDeadlineSeconds: new(int32(600)),
		},
	}
	manage(d, "apps/v1")
	return d
}

// TemplateKind is a custom resource of which the policy's templates says where its templates stand: worst.example/v1
// worsts of internal/worst/policy.yaml.
type TemplateKind struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              TemplateKindSpec `json:"spec"`
}

// TemplateKindSpec has a PodTemplateSpec in a field, a PodSpec in the elements of a list, and a PodTemplateSpec two
// levels deep in maps.
type TemplateKindSpec struct {
	Template corev1.PodTemplateSpec                 `json:"template"`
	Jobs     []TemplateKindJob                      `json:"jobs"`
	Roles    map[string]map[string]TemplateKindRole `json:"roles,omitempty"`
}

// TemplateKindJob is an element of spec.jobs.
type TemplateKindJob struct {
	Template TemplateKindPod `json:"template"`
}

// TemplateKindPod has a PodSpec.
type TemplateKindPod struct {
	Spec corev1.PodSpec `json:"spec"`
}

// TemplateKindRole is an entry of spec.roles.
type TemplateKindRole struct {
	Template corev1.PodTemplateSpec `json:"template"`
}

// DeepCopyObject implements runtime.Object.
func (k *TemplateKind) DeepCopyObject() runtime.Object {
	copied := *k
	return &copied
}

// Templates returns a TemplateKind with a container in each of its templates.
func Templates() *TemplateKind {
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "quay.io/app/app:1"}}}
	k := &TemplateKind{
		TypeMeta:   metav1.TypeMeta{Kind: "Worst", APIVersion: "worst.example/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "team-shop"},
		Spec: TemplateKindSpec{
			Template: corev1.PodTemplateSpec{Spec: pod},
			Jobs:     []TemplateKindJob{{TemplateKindPod{pod}}},
			Roles:    map[string]map[string]TemplateKindRole{"a": {"b": {corev1.PodTemplateSpec{Spec: pod}}}},
		},
	}
	manage(k, "worst.example/v1")
	return k
}

// own makes p look like a Pod that the ReplicaSet controller creates from a Deployment's template.
func own(p *corev1.Pod) {
	p.Name, p.GenerateName = "", "shop-5d4f8c7b9-"
	p.Labels["pod-template-hash"] = "5d4f8c7b9"
	p.Annotations = map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080"}
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "shop-5d4f8c7b9", UID: "f5f1c8a2-3c89-4c71-9d2e-0e8f6f7f8a55",
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}

// complete does what the API server's own admission plugins do to every Pod; no manager owns what they add yet.
func complete(s *corev1.PodSpec) {
	s.ServiceAccountName, s.DeprecatedServiceAccount = "default", "default"
	s.Volumes = append(s.Volumes, tokenVolume())
	for i := range s.Containers {
		s.Containers[i].VolumeMounts = append(s.Containers[i].VolumeMounts, corev1.VolumeMount{
			Name: tokenVolume().Name, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
		})
	}
	s.Tolerations = append(s.Tolerations, unless("not-ready"), unless("unreachable"))
	s.Priority, s.PreemptionPolicy = new(int32(0)), new(corev1.PreemptLowerPriority)
}

func container(i, env int) corev1.Container {
	c := corev1.Container{
		Name:                     fmt.Sprintf("app-%02d", i),
		Image:                    fmt.Sprintf("docker.io/acme/shop-%02d:v1.%d.0", i, i),
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
	}
	if env == 0 {
		return c
	}
	for n := range env {
		c.Env = append(c.Env, corev1.EnvVar{
			Name:  fmt.Sprintf("SHOP_SETTING_%02d", n),
			Value: fmt.Sprintf("http://backend-%02d.team-shop.svc:8080/api?a=1&b=2", n), // & is sent as six characters
		})
	}
	c.Args = []string{"--listen=:8080", "--config=/etc/shop/config.yaml", "--log-level=info"}
	c.Ports = []corev1.ContainerPort{{
		Name: fmt.Sprintf("http-%02d", i), ContainerPort: int32(8080 + i), Protocol: corev1.ProtocolTCP,
	}}
	cpu, memory := resource.MustParse("100m"), resource.MustParse("256Mi")
	c.Resources = corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
		Requests: corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory},
	}
	c.LivenessProbe, c.ReadinessProbe = probe("/livez"), probe("/readyz")
	c.SecurityContext = &corev1.SecurityContext{
		Capabilities:           &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		RunAsNonRoot:           new(true),
		ReadOnlyRootFilesystem: new(true), AllowPrivilegeEscalation: new(false),
	}
	return c
}

func probe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
		}},
		TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

// tokenVolume is what the ServiceAccount admission plugin adds to every Pod.
func tokenVolume() corev1.Volume {
	return corev1.Volume{
		Name: "kube-api-access-x7k2p",
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(int32(0o644)),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
		}},
	}
}

// unless is one of the two tolerations that the DefaultTolerationSeconds admission plugin adds to every Pod.
func unless(condition string) corev1.Toleration {
	return corev1.Toleration{
		Key: "node.kubernetes.io/" + condition, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(300)),
	}
}

// Service returns a LoadBalancer Service with two ports, node ports allocated.
func Service() *corev1.Service {
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{Kind: "Service", APIVersion: "v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("http"), NodePort: 30080},
				{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(8443), NodePort: 30443},
			},
			Selector:                      map[string]string{"app.kubernetes.io/name": "shop"},
			ClusterIP:                     "10.96.14.7",
			ClusterIPs:                    []string{"10.96.14.7"},
			Type:                          corev1.ServiceTypeLoadBalancer,
			SessionAffinity:               corev1.ServiceAffinityNone,
			LoadBalancerSourceRanges:      []string{"10.0.0.0/8", "fd00::/8"},
			ExternalTrafficPolicy:         corev1.ServiceExternalTrafficPolicyLocal,
			HealthCheckNodePort:           31234,
			IPFamilies:                    []corev1.IPFamily{corev1.IPv4Protocol},
			IPFamilyPolicy:                new(corev1.IPFamilyPolicySingleStack),
			AllocateLoadBalancerNodePorts: new(true),
			LoadBalancerClass:             new("example.com/internal"),
			InternalTrafficPolicy:         new(corev1.ServiceInternalTrafficPolicyCluster),
		},
	}
	s.Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-internal": "true"}
	manage(s, "v1")
	return s
}

// Ingress returns an Ingress with so many hosts, each with two paths and a certificate of its own.
func Ingress(hosts int) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{Kind: "Ingress", APIVersion: "networking.k8s.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec:       networkingv1.IngressSpec{IngressClassName: new("internal")},
	}
	ing.Annotations = map[string]string{
		"cert-manager.io/cluster-issuer":                    "corp",
		"nginx.ingress.kubernetes.io/proxy-body-size":       "8m",
		"nginx.ingress.kubernetes.io/force-ssl-redirect":    "true",
		"nginx.ingress.kubernetes.io/proxy-connect-timeout": "5",
	}
	for i := range hosts {
		host := fmt.Sprintf("shop-%03d.apps.corp.example", i)
		ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{
			Hosts: []string{host}, SecretName: fmt.Sprintf("shop-%03d-tls", i),
		})
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{
			Host: host,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{path("/", i), path("/api", i)},
			}},
		})
	}
	manage(ing, "networking.k8s.io/v1")
	return ing
}

// Gateway returns a Gateway with so many listeners with TLS, each of a host of its own.
func Gateway(listeners int) *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{
		TypeMeta:   metav1.TypeMeta{Kind: "Gateway", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: "internal",
			Infrastructure: &gatewayv1.GatewayInfrastructure{Annotations: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{
				"service.beta.kubernetes.io/aws-load-balancer-internal": "true",
			}},
			AllowedListeners: &gatewayv1.AllowedListeners{
				Namespaces: &gatewayv1.ListenerNamespaces{From: new(gatewayv1.NamespacesFromNone)},
			},
		},
	}
	g.Annotations = map[string]string{"cert-manager.io/cluster-issuer": "corp"}
	for i := range listeners {
		g.Spec.Listeners = append(g.Spec.Listeners, gatewayv1.Listener{
			Name:     gatewayv1.SectionName(fmt.Sprintf("https-%02d", i)),
			Hostname: new(gatewayv1.Hostname(fmt.Sprintf("shop-%02d.apps.corp.example", i))),
			Port:     443,
			Protocol: gatewayv1.HTTPSProtocolType,
			TLS: &gatewayv1.ListenerTLSConfig{
				Mode: new(gatewayv1.TLSModeTerminate),
				CertificateRefs: []gatewayv1.SecretObjectReference{{
					Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind("Secret")),
					Name: gatewayv1.ObjectName(fmt.Sprintf("shop-%02d-tls", i)),
				}},
			},
			AllowedRoutes: &gatewayv1.AllowedRoutes{
				Namespaces: &gatewayv1.RouteNamespaces{From: new(gatewayv1.NamespacesFromSame)},
			},
		})
	}
	manage(g, "gateway.networking.k8s.io/v1")
	return g
}

// ReferenceGrant returns a ReferenceGrant of one Service to the HTTPRoutes of another namespace.
func ReferenceGrant() *gatewayv1.ReferenceGrant {
	g := &gatewayv1.ReferenceGrant{
		TypeMeta:   metav1.TypeMeta{Kind: "ReferenceGrant", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: gatewayv1.ReferenceGrantSpec{
			From: []gatewayv1.ReferenceGrantFrom{{
				Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "team-web",
			}},
			To: []gatewayv1.ReferenceGrantTo{{Kind: "Service", Name: new(gatewayv1.ObjectName("shop"))}},
		},
	}
	manage(g, "gateway.networking.k8s.io/v1")
	return g
}

// Certificate returns a Certificate with so many DNS names.
func Certificate(names int) *certmanagerv1.Certificate {
	crt := &certmanagerv1.Certificate{
		TypeMeta:   metav1.TypeMeta{Kind: "Certificate", APIVersion: "cert-manager.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: certmanagerv1.CertificateSpec{
			SecretName: "shop-tls", IssuerRef: cmmeta.IssuerReference{Kind: "ClusterIssuer", Name: "corp"},
			PrivateKey: &certmanagerv1.CertificatePrivateKey{RotationPolicy: certmanagerv1.RotationPolicyAlways},
		},
	}
	for i := range names {
		crt.Spec.DNSNames = append(crt.Spec.DNSNames, fmt.Sprintf("shop-%03d.apps.corp.example", i))
	}
	manage(crt, "cert-manager.io/v1")
	return crt
}

// DNSEndpoint is a DNSEndpoint of external-dns, without the fields that decide nothing. That module wants a newer Go.
type DNSEndpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              DNSEndpointSpec `json:"spec"`
}

// DNSEndpointSpec is the spec of a DNSEndpoint.
type DNSEndpointSpec struct {
	Endpoints []DNSRecord `json:"endpoints,omitempty"`
}

// DNSRecord is one element of spec.endpoints.
type DNSRecord struct {
	DNSName       string            `json:"dnsName,omitempty"`
	RecordType    string            `json:"recordType,omitempty"`
	Targets       []string          `json:"targets,omitempty"`
	RecordTTL     int64             `json:"recordTTL,omitempty"`
	SetIdentifier string            `json:"setIdentifier,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
}

// DeepCopyObject makes a DNSEndpoint a runtime.Object.
func (e *DNSEndpoint) DeepCopyObject() runtime.Object {
	c := *e
	c.ObjectMeta = *e.ObjectMeta.DeepCopy()
	c.Spec.Endpoints = slices.Clone(e.Spec.Endpoints)
	return &c
}

// DNSRecords returns a DNSEndpoint of so many records.
func DNSRecords(records int) *DNSEndpoint {
	e := &DNSEndpoint{
		TypeMeta:   metav1.TypeMeta{Kind: "DNSEndpoint", APIVersion: "externaldns.k8s.io/v1alpha1"},
		ObjectMeta: meta("shop", "team-shop"),
	}
	for i := range records {
		e.Spec.Endpoints = append(e.Spec.Endpoints, DNSRecord{
			DNSName: fmt.Sprintf("shop-%03d.apps.corp.example", i), RecordType: "A", RecordTTL: 300,
			Targets: []string{"192.0.2.1", "192.0.2.2"},
		})
	}
	manage(e, "externaldns.k8s.io/v1alpha1")
	return e
}

// OpenShiftRoute is a Route of route.openshift.io/v1, without the fields that decide nothing. That module has no
// release with spec.subdomain.
type OpenShiftRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              OpenShiftRouteSpec `json:"spec"`
}

// OpenShiftRouteSpec is the spec of a Route.
type OpenShiftRouteSpec struct {
	Host              string             `json:"host,omitempty"`
	Subdomain         string             `json:"subdomain,omitempty"`
	Path              string             `json:"path,omitempty"`
	To                OpenShiftBackend   `json:"to"`
	AlternateBackends []OpenShiftBackend `json:"alternateBackends,omitempty"`
	WildcardPolicy    string             `json:"wildcardPolicy,omitempty"`
}

// OpenShiftBackend is where a Route sends requests.
type OpenShiftBackend struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Weight int32  `json:"weight"`
}

// DeepCopyObject makes an OpenShiftRoute a runtime.Object.
func (r *OpenShiftRoute) DeepCopyObject() runtime.Object {
	c := *r
	c.ObjectMeta = *r.ObjectMeta.DeepCopy()
	c.Spec.AlternateBackends = slices.Clone(r.Spec.AlternateBackends)
	return &c
}

// Route returns a Route of OpenShift.
func Route() *OpenShiftRoute {
	r := &OpenShiftRoute{
		TypeMeta:   metav1.TypeMeta{Kind: "Route", APIVersion: "route.openshift.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: OpenShiftRouteSpec{
			Host: "shop.apps.corp.example", Path: "/api", To: OpenShiftBackend{"Service", "shop", 100},
			AlternateBackends: []OpenShiftBackend{{"Service", "shop-next", 10}}, WildcardPolicy: "None",
		},
	}
	r.Annotations = map[string]string{"haproxy.router.openshift.io/timeout": "5s"}
	manage(r, "route.openshift.io/v1")
	return r
}

func path(prefix string, i int) networkingv1.HTTPIngressPath {
	return networkingv1.HTTPIngressPath{
		Path:     prefix,
		PathType: new(networkingv1.PathTypePrefix),
		Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: fmt.Sprintf("shop-%03d", i), Port: networkingv1.ServiceBackendPort{Number: 80},
		}},
	}
}

// created is when every object of this package came to be.
func created() metav1.Time { return metav1.NewTime(time.Date(2026, 9, 1, 8, 30, 0, 0, time.UTC)) }
