package kit

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// documents returns the documents of a YAML stream.
func documents(t *testing.T, stream []byte) [][]byte {
	t.Helper()
	var docs [][]byte
	r := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs
		}
		must(t, err)
		docs = append(docs, doc)
	}
}

// webhooksOf returns the webhooks in manifests by their names. A mutating webhook has the fields of a validating one.
func webhooksOf(t *testing.T, manifests []byte) map[string]admissionv1.ValidatingWebhook {
	t.Helper()
	webhooks := map[string]admissionv1.ValidatingWebhook{}
	for _, o := range objects(t, manifests) {
		if !slices.Contains(webhookKinds(), o.GetKind()) {
			continue
		}
		var config admissionv1.ValidatingWebhookConfiguration
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &config))
		for _, w := range config.Webhooks {
			webhooks[w.Name] = w
		}
	}
	return webhooks
}

// strict returns a decoder for the types of Kubernetes, cert-manager and the Prometheus operator. An unknown or
// duplicate field is an error.
func strict(t *testing.T) runtime.Decoder {
	t.Helper()
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, certmanagerv1.AddToScheme,
		monitoringv1.AddToScheme} {
		must(t, add(types))
	}
	return serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
}

func TestTypes(t *testing.T) {
	decoder := strict(t)
	eachOverlay(t, func(t *testing.T, k *Kit, dir string) {
		docs := documents(t, k.render(t, dir))
		if len(docs) < 10 {
			t.Errorf("only %d objects", len(docs))
		}
		for _, doc := range docs {
			if _, _, err := decoder.Decode(doc, nil, nil); err != nil {
				t.Errorf("%v\n%s", err, doc)
			}
		}
	})
}

func TestTypesAreStrict(t *testing.T) {
	_, _, err := strict(t).Decode([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {porst: []}"), nil,
		nil)
	if err == nil {
		t.Error("an unknown field is not an error")
	}
}
