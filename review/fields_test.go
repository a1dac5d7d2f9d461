package review

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names are expected in the order in which an API server writes them, which is that of Kubernetes' own types, and there are no
// others.
func TestFieldsAreInOrder(t *testing.T) {
	for _, test := range []struct {
		fields *fields
		of     any
	}{
		{reviewFields, admissionv1.AdmissionReview{}},
		{requestFields, admissionv1.AdmissionRequest{}},
		{userFields, authenticationv1.UserInfo{}},
		{resourceFields, metav1.GroupVersionResource{}},
		{objectFields, corev1.Pod{}},
		{objectFields, networkingv1.Ingress{}},
		{metaFields, metav1.ObjectMeta{}},
		{ownerFields, metav1.OwnerReference{}},
		{podFields, corev1.PodSpec{}},
		{containerFields, corev1.Container{}},
		{volumeFields, corev1.Volume{}},
		{imageFields, corev1.ImageVolumeSource{}},
		{ingressFields, networkingv1.IngressSpec{}},
		{ingressRuleFields, networkingv1.IngressRule{}},
		{ingressHTTPFields, networkingv1.HTTPIngressRuleValue{}},
		{ingressPathFields, networkingv1.HTTPIngressPath{}},
		{ingressTLSFields, networkingv1.IngressTLS{}},
		{serviceFields, corev1.ServiceSpec{}},
		{servicePortFields, corev1.ServicePort{}},
		{configMapFields, corev1.ConfigMap{}},
	} {
		typ := reflect.TypeOf(test.of)
		t.Run(typ.Name(), func(t *testing.T) {
			all := jsonNames(typ)
			want := slices.Clone(all)
			want = slices.DeleteFunc(want, func(name string) bool { return !slices.Contains(test.fields.names, name) })
			if !slices.Equal(test.fields.names, want) {
				t.Errorf("%s\nare not in the order of\n%s", test.fields.names, all)
			}
		})
	}
}

func jsonNames(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "":
			names = append(names, name)
		case f.Anonymous:
			names = append(names, jsonNames(f.Type)...)
		}
	}
	return names
}

// A field is found wherever it stands and however it is written, and its value is read once.
func TestFieldIsFound(t *testing.T) {
	known := fieldsOf("a", "image", "sevench", "terminationMessagePath", "terminationMessagePolicy")
	long := strings.Repeat(" ", 40) // so that what stands before it is not at the end of the text
	for text, want := range map[string]string{
		`{"a":1,"sevench":2,"terminationMessagePath":3,"terminationMessagePolicy":4}`: "a=1 sevench=2 terminationMessagePath=3 terminationMessagePolicy=4",
		`{"terminationMessagePolicy":4,"terminationMessagePath":3,"sevench":2,"a":1}`: "terminationMessagePolicy=4 terminationMessagePath=3 sevench=2 a=1",
		`{ "a" : 1 , "sevenc\u0068" : 2 }` + long:                                     "a=1 sevench=2",
		`{"b":0,"a":1,"":0,"terminationMessagePat":0,"sevenchar":{"a":5}}` + long:     "a=1",
		`{"terminationMassagePath":0,"aimage":0,"imaged":0,"a":1}` + long:             "a=1",
		`{"A":0,"a":` + "\n" + `1,"terminationMessageP":0}` + long:                    "a=1",
		`{"image" : 1, "imager":2, "imag":3}` + long:                                  "image=1",
		`{"a":1}`:               "a=1",
		`{"\u0061":1}`:          "a=1",
		`{"x":"\"a\":1"}`:       "",
		`{"x":{},"sevench":{}}`: "sevench={}",
		`{"a":1,"a":2}` + long:  "a=1 a=2 not a",
		`{"sevench":1,"x":0,"sevenc\u0068":1}` + long:      "sevench=1 sevench=1 not sevench",
		`{"terminationMessagePath":1,"a":1,"a":1} ` + long: "terminationMessagePath=1 a=1 a=1 not a",
	} {
		r := newReader([]byte(text))
		var got []string
		for field := range r.fields(known) {
			got = append(got, field+"="+string(r.raw()))
		}
		if r.end(); r.err != nil {
			got = append(got, "not "+strings.TrimSuffix(r.err.Error(), ": stands twice"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A text may end anywhere.
func TestFieldAtTheEnd(t *testing.T) {
	text := `{"terminationMessagePath":1}`
	for n := range len(text) {
		r := newReader([]byte(text[:n]))
		for range r.fields(fieldsOf("terminationMessagePath", "a")) {
			r.skip()
		}
		if r.err == nil {
			t.Errorf("%s is taken for JSON", text[:n])
		}
	}
}

// Of a field that nobody reads it is all the same how often it stands there.
func TestUnreadFieldMayStandTwice(t *testing.T) {
	r := newReader([]byte(`{"a":1,"b":2,"a":3}`))
	n := 0
	for range r.fields(fieldsOf("a", "b")) {
		n++
	}
	if r.end(); r.err != nil || n != 3 {
		t.Error(n, r.err)
	}
}

// A walker does not hear of a field that is expected and not read, however it is written.
func TestSkippedField(t *testing.T) {
	r := newReader([]byte(`{"a":1,"b":2,"c":3,"\u0062":4,"b" : 5,"c":6}`))
	var got []string
	for name := range r.fields(fieldsOf("a", "-b", "c")) {
		got = append(got, name)
	}
	if r.end(); r.err != nil || strings.Join(got, " ") != "a c c" {
		t.Error(got, r.err)
	}
}
