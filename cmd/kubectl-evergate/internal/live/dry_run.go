package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/deploy"
)

// The service account of the ReplicaSet controller, which creates the Pods for Deployments. On OpenShift the account
// decides which SecurityContextConstraints apply, and policies may exempt the account of a user.
const (
	controllerNamespace = metav1.NamespaceSystem
	controllerName      = "replicaset-controller"
	controllerUser      = "system:serviceaccount:" + controllerNamespace + ":" + controllerName
)

// DryRunPod creates a Pod of a Deployment as a dry run, so nothing changes in the cluster. It impersonates the
// service account of the ReplicaSet controller if the user may do so. It returns an error if the answer of the API
// server is unknown.
func (c *Cluster) DryRunPod(ctx context.Context, d *appsv1.Deployment) (deploy.DryRun, error) {
	pod := podOf(d, c.replicaSetOf(ctx, d))
	impersonates, err := c.may(ctx, &authorizationv1.ResourceAttributes{
		Verb: "impersonate", Resource: "serviceaccounts", Namespace: controllerNamespace, Name: controllerName,
	})
	if err != nil {
		return deploy.DryRun{}, err
	}
	if impersonates {
		created, err := c.Controller.CoreV1().Pods(d.Namespace).Create(ctx, pod, dryRunAll())
		if !mayNotCreate(err) {
			return answer(created, err, true)
		}
	}
	creates, err := c.may(ctx, &authorizationv1.ResourceAttributes{
		Verb: "create", Resource: "pods", Namespace: d.Namespace,
	})
	switch {
	case err != nil:
		return deploy.DryRun{}, err
	case !creates:
		return deploy.DryRun{}, fmt.Errorf("you may neither create pods in %s nor impersonate the serviceaccount %s/%s",
			d.Namespace, controllerNamespace, controllerName)
	}
	created, err := c.Client.CoreV1().Pods(d.Namespace).Create(ctx, pod, dryRunAll())
	return answer(created, err, false)
}

func dryRunAll() metav1.CreateOptions {
	return metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
}

// may reports whether the user has a right.
func (c *Cluster) may(ctx context.Context, right *authorizationv1.ResourceAttributes) (bool, error) {
	review, err := c.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right},
		}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the right to %s %s: %w", right.Verb, right.Resource, err)
	}
	return review.Status.Allowed, nil
}

// mayNotCreate reports whether the account of the ReplicaSet controller lacks the right to create Pods, because another
// account creates them in this cluster. A rejection by admission has the same code and another message.
func mayNotCreate(err error) bool {
	return apierrors.IsForbidden(err) &&
		(strings.Contains(err.Error(), fmt.Sprintf(`User %q cannot create resource "pods"`, controllerUser)) ||
			strings.Contains(err.Error(), "cannot impersonate resource"))
}

// answer reads the answer of the API server. It returns the error if that does not depend on the Pod.
func answer(created *corev1.Pod, err error, asController bool) (deploy.DryRun, error) {
	if err == nil {
		return deploy.DryRun{Pod: created, AsController: asController}, nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	switch {
	case !ok, strings.Contains(err.Error(), "does not support dry run"):
		return deploy.DryRun{}, err
	case status.ErrStatus.Code == http.StatusInternalServerError && !strings.Contains(err.Error(), "webhook"):
		return deploy.DryRun{}, err // an error of the API server or of etcd
	case status.ErrStatus.Code == http.StatusBadRequest, status.ErrStatus.Code == http.StatusForbidden,
		status.ErrStatus.Code == http.StatusConflict, status.ErrStatus.Code == http.StatusUnprocessableEntity,
		status.ErrStatus.Code == http.StatusInternalServerError:
		return deploy.DryRun{Rejected: status.ErrStatus.Message, AsController: asController}, nil
	}
	return deploy.DryRun{}, err
}

// revision is the annotation by which a Deployment counts its ReplicaSets.
const revision = "deployment.kubernetes.io/revision"

// replicaSetOf returns the newest ReplicaSet of a Deployment. It is nil if the Deployment does not have a ReplicaSet
// yet, and if the user may not list ReplicaSets.
func (c *Cluster) replicaSetOf(ctx context.Context, d *appsv1.Deployment) *appsv1.ReplicaSet {
	list, err := c.Client.AppsV1().ReplicaSets(d.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector),
	})
	if err != nil {
		return nil
	}
	var newest *appsv1.ReplicaSet
	latest := -1
	for i := range list.Items {
		rs := &list.Items[i]
		n, err := strconv.Atoi(rs.Annotations[revision])
		if err == nil && n > latest && metav1.IsControlledBy(rs, d) {
			newest, latest = rs, n
		}
	}
	return newest
}

// podOf returns the Pod that the controller of a ReplicaSet would create from the template of a Deployment. Without a
// ReplicaSet the Pod has neither an owner nor a hash of its template.
func podOf(d *appsv1.Deployment, rs *appsv1.ReplicaSet) *corev1.Pod {
	pod := deploy.PodOf(d)
	if rs == nil {
		return pod
	}
	pod.GenerateName = rs.Name + "-"
	if hash, ok := rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ok {
		pod.Labels = maps.Clone(pod.Labels)
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	}
	// Without blockOwnerDeletion: that would take the right to change the ReplicaSet.
	controller := true
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ReplicaSet", Name: rs.Name, UID: rs.UID,
		Controller: &controller,
	}}
	return pod
}
