package live

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const namespace = "evergate-system"

func deployment() *appsv1.Deployment {
	set := map[string]string{"app": "evergate"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "evergate", UID: "d"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: set, Annotations: map[string]string{"a": "b"}},
				Spec: corev1.PodSpec{
					ServiceAccountName: "evergate", Containers: []corev1.Container{{Name: "evergate"}},
				},
			},
		},
	}
}

// replicaSet returns a ReplicaSet of the Deployment.
func replicaSet(name, revision string) *appsv1.ReplicaSet {
	controls := true
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: "rs",
		Annotations:     map[string]string{"deployment.kubernetes.io/revision": revision},
		Labels:          map[string]string{"app": "evergate", "pod-template-hash": strings.TrimPrefix(name, "evergate-")},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "evergate", UID: "d", Controller: &controls}},
	}}
}

// client returns a client of an API server that grants some rights, and answers the creation of Pods with an error.
func client(t *testing.T, answer error, rights ...string) *fake.Clientset {
	t.Helper()
	c := fake.NewSimpleClientset(replicaSet("evergate-old", "9"), replicaSet("evergate-new", "10"))
	c.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		asked := review.Spec.ResourceAttributes
		for _, right := range rights {
			review.Status.Allowed = review.Status.Allowed ||
				right == strings.Join([]string{asked.Verb, asked.Resource, asked.Namespace, asked.Name}, " ")
		}
		return true, review, nil
	})
	c.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if create := a.(clienttesting.CreateActionImpl); len(create.CreateOptions.DryRun) == 0 {
			t.Error("a Pod is created")
		}
		return true, a.(clienttesting.CreateAction).GetObject(), answer
	})
	return c
}

// The answer of the API server is reported. A failed call, or any other answer, is an error.
func TestDryRunPod(t *testing.T) {
	const (
		impersonate = "impersonate serviceaccounts kube-system replicaset-controller"
		create      = "create pods " + namespace + " "
	)
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := func(why string) error { return apierrors.NewForbidden(pods, "evergate-new-", errors.New(why)) }
	violates := forbidden(`violates PodSecurity "restricted:latest"`)
	noRight := forbidden(`User "system:serviceaccount:kube-system:replicaset-controller" cannot create resource ` +
		`"pods" in API group "" in the namespace "` + namespace + `"`)
	const (
		neither = "you may neither create pods in evergate-system nor impersonate the serviceaccount " +
			"kube-system/replicaset-controller"
		violated = `pods "evergate-new-" is forbidden: violates PodSecurity "restricted:latest"`
	)
	for name, test := range map[string]struct {
		user, controller error // with which each is answered
		rights           []string
		want, err        string // of the answer, of the error
	}{
		"accepted":              {rights: []string{impersonate, create}, want: "controller"},
		"accepted, as the user": {controller: violates, rights: []string{create}, want: "user"},
		"rejected": {
			controller: violates, rights: []string{impersonate}, want: "controller: " + violated,
		},
		"rejected, as the user":        {user: violates, rights: []string{create}, want: "user: " + violated},
		"another account creates Pods": {controller: noRight, rights: []string{impersonate, create}, want: "user"},
		"another account creates Pods, and the user may not": {
			controller: noRight, rights: []string{impersonate}, err: neither,
		},
		// The API server also checks the right to impersonate the groups.
		"the user may impersonate only the account": {
			controller: forbidden(`User "bob" cannot impersonate resource "groups"`),
			rights:     []string{impersonate, create}, want: "user",
		},
		"no right": {err: neither},
		"a webhook fails": {
			controller: apierrors.NewInternalError(errors.New(`failed calling webhook "x"`)), rights: []string{impersonate},
			want: `controller: Internal error occurred: failed calling webhook "x"`,
		},
		"a webhook without dry runs": {
			controller: apierrors.NewBadRequest(`admission webhook "x" does not support dry run`),
			rights:     []string{impersonate}, err: `admission webhook "x" does not support dry run`,
		},
		"etcd fails": {
			controller: apierrors.NewInternalError(errors.New("etcdserver: leader changed")), rights: []string{impersonate},
			err: "Internal error occurred: etcdserver: leader changed",
		},
		"no answer": {
			controller: apierrors.NewTooManyRequests("later", 1), rights: []string{impersonate}, err: "later",
		},
		"no connection": {
			controller: errors.New("connection refused"), rights: []string{impersonate}, err: "connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{
				Client: client(t, test.user, test.rights...), Controller: client(t, test.controller), Namespace: namespace,
			}
			got, err := c.DryRunPod(t.Context(), deployment())
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			said := "user"
			if got.AsController {
				said = "controller"
			}
			if got.Rejected != "" {
				said += ": " + got.Rejected
			}
			if said != test.want || (got.Pod == nil) != (got.Rejected != "") {
				t.Errorf("%s, %v; want %s", said, got.Pod, test.want)
			}
		})
	}
}

// The Pod is one of the newest ReplicaSet, with the template of the Deployment, which stays as it is.
func TestPodOf(t *testing.T) {
	d := deployment()
	c := &Cluster{Client: client(t, nil), Namespace: namespace}
	pod := podOf(d, c.replicaSetOf(t.Context(), d))
	owner := metav1.GetControllerOf(pod)
	switch {
	case pod.GenerateName != "evergate-new-", pod.Labels["app"] != "evergate", pod.Labels["pod-template-hash"] != "new",
		pod.Annotations["a"] != "b", pod.Spec.ServiceAccountName != "evergate":
		t.Errorf("%+v", pod)
	case owner == nil || owner.Name != "evergate-new" || owner.BlockOwnerDeletion != nil:
		t.Errorf("its owner is %v", owner)
	case len(d.Spec.Template.Labels) != 1:
		t.Errorf("the template has the labels %v", d.Spec.Template.Labels)
	}
	if pod := podOf(d, nil); pod.GenerateName != "evergate-" || len(pod.OwnerReferences) > 0 || len(pod.Labels) != 1 {
		t.Errorf("without a ReplicaSet: %+v", pod)
	}
}
