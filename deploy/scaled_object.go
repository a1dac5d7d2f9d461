package deploy

import (
	"cmp"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// trigger is a trigger of a ScaledObject.
type trigger struct {
	Type string `json:"type"`
}

// scalerOf returns an autoscaler with the effect of a ScaledObject of KEDA, or nil if the ScaledObject cannot be read.
// By default, a ScaledObject sets the number of replicas to zero when no trigger is active. Triggers on CPU and memory
// are always active.
func scalerOf(o *unstructured.Unstructured) *autoscalingv2.HorizontalPodAutoscaler {
	var spec struct {
		ScaleTargetRef struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount  int32     `json:"minReplicaCount"`
		IdleReplicaCount *int32    `json:"idleReplicaCount"`
		MaxReplicaCount  *int32    `json:"maxReplicaCount"`
		Triggers         []trigger `json:"triggers"`
	}
	fields, _, err := unstructured.NestedMap(o.Object, "spec")
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec) != nil {
		return nil
	}
	const maxByDefault = 100
	least, most := spec.MinReplicaCount, int32(maxByDefault)
	if spec.IdleReplicaCount != nil {
		least = *spec.IdleReplicaCount
	}
	if spec.MaxReplicaCount != nil {
		most = *spec.MaxReplicaCount
	}
	mayIdle := func(t trigger) bool { return t.Type != "cpu" && t.Type != "memory" }
	if !slices.ContainsFunc(spec.Triggers, mayIdle) {
		least = max(least, spec.MinReplicaCount, 1)
	}
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{Kind: o.GetKind()},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				Kind: cmp.Or(spec.ScaleTargetRef.Kind, "Deployment"), Name: spec.ScaleTargetRef.Name,
			},
			MinReplicas: &least, MaxReplicas: most,
		},
	}
}
