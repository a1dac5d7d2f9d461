package reviewtest

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Pod returns a Pod as mutating webhooks receive it: with default values and the changes of earlier admission plugins,
// but without uid, creation time and status. It has the given number of containers, each with env environment
// variables. If env is 0, the Pod is as minimal as a Pod from kubectl run. Otherwise, a ReplicaSet owns it.
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

// Deployment returns a Deployment as validating webhooks receive it, with a template of Pod(containers, env).
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

// own changes p to look like a Pod that the ReplicaSet controller creates from a Deployment's template.
func own(p *corev1.Pod) {
	p.Name, p.GenerateName = "", "shop-5d4f8c7b9-"
	p.Labels["pod-template-hash"] = "5d4f8c7b9"
	p.Annotations = map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080"}
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "shop-5d4f8c7b9", UID: "f5f1c8a2-3c89-4c71-9d2e-0e8f6f7f8a55",
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}

// complete makes the changes that the API server's admission plugins make to every Pod. No manager owns them yet.
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
			Value: fmt.Sprintf("http://backend-%02d.team-shop.svc:8080/api?a=1&b=2", n), // & is encoded as six characters
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

// tokenVolume returns the volume that the ServiceAccount admission plugin adds to every Pod.
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

// unless returns one of the two tolerations that the DefaultTolerationSeconds admission plugin adds to every Pod.
func unless(condition string) corev1.Toleration {
	return corev1.Toleration{
		Key: "node.kubernetes.io/" + condition, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(300)),
	}
}

// created returns the creation time of every object in this package.
func created() metav1.Time { return metav1.NewTime(time.Date(2026, 9, 1, 8, 30, 0, 0, time.UTC)) }
