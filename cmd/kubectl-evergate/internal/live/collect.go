package live

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/apiserver"
)

// Collect yields the objects that preflight reads, like deploy/collect.sh. From Secrets it yields only certificates.
// It calls leftOut for resources that cannot be read or are not served. Like deploy/collect.sh, it yields a Status for
// resources that preflight has to know.
func (c *Cluster) Collect(ctx context.Context, leftOut func(what string, err error)) iter.Seq2[offline.Object, error] {
	return func(yield func(offline.Object, error) bool) {
		w := &collector{
			Cluster: c, yield: yield, leftOut: leftOut, called: map[string]bool{c.Namespace: true}, secrets: map[string]bool{},
		}
		ok := w.all(ctx, install.Cluster, "") && w.all(ctx, install.Namespace, c.Namespace)
		for _, namespace := range slices.Sorted(maps.Keys(w.called)) {
			ok = ok && w.all(ctx, install.Called, namespace)
		}
		for _, secret := range slices.Sorted(maps.Keys(w.secrets)) {
			ok = ok && w.certificates(ctx, secret)
		}
	}
}

type collector struct {
	*Cluster
	yield   func(offline.Object, error) bool
	leftOut func(what string, err error)
	called  map[string]bool // namespaces of the Services of all webhooks
	secrets map[string]bool // Secrets with certificates in Evergate's namespace
}

// all yields the objects of the kinds that are read from a place. It returns false if the consumer has stopped.
func (w *collector) all(ctx context.Context, from install.Place, namespace string) bool {
	for _, k := range install.Kinds() {
		if k.From != from {
			continue
		}
		path := "/api/v1/"
		if k.APIVersion != "v1" {
			path = "/apis/" + k.APIVersion + "/"
		}
		if namespace != "" {
			path += "namespaces/" + url.PathEscape(namespace) + "/"
		}
		if !w.list(ctx, path+k.Resource, k.Resource, k.Needed && (namespace == "" || namespace == w.Namespace)) {
			return false
		}
	}
	return true
}

func (w *collector) list(ctx context.Context, path, resource string, needed bool) bool {
	for object, err := range w.Objects.List(ctx, path, nil) {
		if apiserver.Answered(err) != 0 {
			w.leftOut(resource, err)
			return !needed || w.yield(Status(resource, resource, err.Error()))
		}
		if err == nil {
			w.follow(object)
		}
		if !w.yield(object, err) {
			return false
		}
	}
	return true
}

// Object returns an object of a Go type as if it were read from a file.
func Object(file string, typed any) (offline.Object, error) {
	data, err := json.Marshal(typed)
	if err != nil {
		return offline.Object{}, fmt.Errorf("%s: %w", file, err)
	}
	return offline.ParseJSON(offline.Origin{File: file}, data)
}

// Status returns an answer of the API server that no object contains, in the form of deploy/collect.sh. kind is the
// resource that it is about, and may be empty.
func Status(file, kind, message string) (offline.Object, error) {
	return Object(file, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: message,
		Details: &metav1.StatusDetails{Kind: kind},
	})
}

// follow records further objects that have to be read because of an object.
func (w *collector) follow(o offline.Object) {
	var found struct {
		Webhooks []struct {
			ClientConfig struct {
				Service *struct {
					Namespace string `json:"namespace"`
				} `json:"service"`
			} `json:"clientConfig"`
		} `json:"webhooks"`
		Spec struct {
			SecretName string `json:"secretName"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(o.JSON, &found); err != nil {
		return // a kind whose spec has another type
	}
	for _, hook := range found.Webhooks {
		if s := hook.ClientConfig.Service; s != nil {
			w.called[s.Namespace] = true
		}
	}
	if o.Kind == "Certificate" && o.Namespace == w.Namespace && found.Spec.SecretName != "" {
		w.secrets[found.Spec.SecretName] = true
	}
}

// certificates yields a Secret that contains only its certificates, without the key.
func (w *collector) certificates(ctx context.Context, name string) bool {
	secret, err := w.Client.CoreV1().Secrets(w.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		w.leftOut("secret "+name, err)
		return true
	}
	public := corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name, UID: secret.UID},
		Data:       map[string][]byte{},
	}
	for _, key := range []string{corev1.TLSCertKey, corev1.ServiceAccountRootCAKey} {
		if data, ok := secret.Data[key]; ok {
			public.Data[key] = data
		}
	}
	return w.yield(Object("secrets/"+name, public))
}

// Forbidden reports whether an error means that the user may not read something.
func Forbidden(err error) bool {
	return apiserver.Answered(err) == http.StatusForbidden || apierrors.IsForbidden(err)
}

// NotServed reports whether an error means that a cluster does not serve a kind.
func NotServed(err error) bool { return apiserver.Answered(err) == http.StatusNotFound }
