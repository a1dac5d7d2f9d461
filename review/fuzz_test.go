package review

import (
	stdjson "encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review/reviewtest"
)

// The decoder must read the same values as the API server. These targets decode the same bytes with Kubernetes' types
// and its JSON decoder, and compare every field that affects decisions.

func FuzzDecodePod(f *testing.F) {
	seed(f, reviewtest.Update(reviewtest.Pod(2, 1), reviewtest.Pod(1, 0)), "pods",
		`{"metadata":{"annotations":{"a":"\u00e9\ud800"},"ownerReferences":[{"kind":"Job","name":"a","controller":true}]}}`,
		`{"spec":{"volumes":[null,{"name":"m","image":{"reference":"r"}}],`+
			`"initContainers":[{"image":null},{"im\u0061ge":"a"}]}}`,
		`{"spec":{"ephemeralContainers":[{"name":"e","image":"i","targetContainerName":"t"}],`+
			`"containers":[{"image":"a","Image":"b"}]}}`,
		`{"spec":{"imagePullSecrets":[{"name":"a"},{},null,{"name":"a"}],"containers":[]}}`,
		`{"spec":{"imagePullSecrets":null}}`, `{"spec":{"imagePullSecrets":[]}}`,
	)
	pod := typedKind[object.Pod]{typed: typedPod, drop: func(p *object.Pod) { // the type does not have profiles
		p.Images = slices.DeleteFunc(p.Images, func(i object.Image) bool { return !i.Place.HasPullPolicy() })
	}}
	f.Fuzz(func(t *testing.T, body []byte) { compareKind(t, body, Pods(), pod) })
}

func FuzzDecodeIngress(f *testing.F) {
	seed(f, reviewtest.Update(reviewtest.Ingress(2), reviewtest.Ingress(1)), "ingresses",
		`{"spec":{"ingressClassName":"a","defaultBackend":{"resource":null},"tls":[{"hosts":[null,"h"]}]}}`,
		`{"spec":{"defaultBackend":null,"rules":[null,{"host":"h","http":{"paths":[{"pathType":"Exact"},null]}}]}}`,
	)
	f.Fuzz(func(t *testing.T, body []byte) { compare(t, body, Ingresses(), typedIngress) })
}

func FuzzDecodeService(f *testing.F) {
	seed(f, reviewtest.Update(reviewtest.Service(), reviewtest.Service()), "services",
		`{"spec":{"type":"NodePort","ports":[{"port":-0},{"nodePort":2147483647}],"allocateLoadBalancerNodePorts":false}}`,
		`{"spec":{"externalIPs":["::1"],"externalName":"\n","loadBalancerClass":null,"healthCheckNodePort":1e2}}`,
	)
	f.Fuzz(func(t *testing.T, body []byte) { compareKinds(t, body, Services(), typedServices()) })
}

func FuzzDecodeCertificate(f *testing.F) {
	seed(f, reviewtest.Update(reviewtest.Certificate(2), reviewtest.Certificate(1)), "certificates",
		`{"spec":{"commonName":"a","literalSubject":"CN=a","dnsNames":["a",null],"uris":["\u0061"],"ipAddresses":["::1"]}}`,
		`{"spec":{"commonName":null,"dnsNames":null,"DnsNames":["a"]}}`,
	)
	seedManifests(f, Certificates().Kinds)
	f.Fuzz(func(t *testing.T, body []byte) { compare(t, body, Certificates(), typedCertificate) })
}

func FuzzDecodeDNSEndpoint(f *testing.F) {
	seed(f, reviewtest.Update(reviewtest.DNSRecords(2), reviewtest.DNSRecords(1)), "dnsendpoints",
		`{"spec":{"endpoints":[{"dnsName":"a","targets":["b"]},null,{"dnsname":"c"}]}}`,
		`{"spec":{"endpoints":null}}`,
	)
	seedManifests(f, DNSEndpoints().Kinds)
	f.Fuzz(func(t *testing.T, body []byte) { compare(t, body, DNSEndpoints(), typedDNSEndpoint) })
}

func FuzzDecodeOpenShiftRoute(f *testing.F) {
	seed(f, reviewtest.Update(reviewtest.Route(), reviewtest.Route()), "routes",
		`{"spec":{"host":"A.example","wildcardPolicy":"Subdomain","to":{"kind":"Service"},`+
			`"alternateBackends":[null,{"kind":"X"}]}}`,
		`{"spec":{"subdomain":"a","path":"/","to":null}}`,
	)
	seedManifests(f, OpenShiftRoutes().Kinds)
	f.Fuzz(func(t *testing.T, body []byte) { compare(t, body, OpenShiftRoutes(), typedOpenShiftRoute) })
}

// FuzzHead reads the head of every prefix of a body. It must have the uid of the whole body, or none.
func FuzzHead(f *testing.F) {
	f.Add(reviewtest.Create(reviewtest.Service()), 200)
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		part, ok := ReadHead(body[:max(0, min(cut, len(body)))])
		if whole, _ := ReadHead(body); ok && part.UID != whole.UID {
			t.Errorf("%q in the first %d bytes, %q in all", part.UID, cut, whole.UID)
		}
	})
}

func seed(f *testing.F, body []byte, resource string, objects ...string) {
	f.Add(body)
	for _, object := range objects {
		f.Add([]byte(creation(resource, object)))
	}
	f.Add([]byte(creation(resource, `null`)))
	f.Add([]byte(creation(resource, `{"metadata":{"name":"a","name":"b"}}`)))
}

// seedManifests adds the creation of each manifest in the test data of package policy that has one of these kinds, in
// any of their versions.
func seedManifests(f *testing.F, kinds []Kind) {
	f.Helper()
	seeds := 0
	err := filepath.WalkDir("../policy/testdata", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			object, err := yaml.YAMLToJSON([]byte(doc))
			if err != nil {
				continue // such as a policy that fails to load
			}
			var head metav1.TypeMeta
			if stdjson.Unmarshal(object, &head) != nil {
				continue
			}
			for _, k := range kinds {
				if head.Kind == k.Name && slices.Contains(k.APIVersions(), head.APIVersion) {
					f.Add([]byte(creation(k.Resource.Name, string(object))))
					seeds++
				}
			}
		}
		return nil
	})
	if err != nil || seeds == 0 {
		f.Fatalf("%d manifests: %v", seeds, err)
	}
}

// typedKind describes how to decode one of several kinds that are evaluated in the same way, with its own type.
type typedKind[T any] struct {
	typed func([]byte) (*T, error)
	// lacks matches the paths of fields that other kinds have and this kind does not have. They are read anyway, and do
	// not affect decisions, so drop removes them. API servers never send them, because they prune unknown fields.
	lacks *regexp.Regexp
	drop  func(*T)
}

// compareKinds is like compare, for each of several kinds, in the order of objects.
func compareKinds[T any](t *testing.T, body []byte, objects Objects[T], kinds []typedKind[T]) bool {
	taken := false
	for i, kind := range kinds {
		only := Objects[T]{objects.Kinds[i : i+1], objects.read, objects.readOld, nil, false}
		taken = compareKind(t, body, only, kind) || taken
	}
	return taken
}

// compare decodes body in both ways and reports whether both accept it. Our decoder may accept a body that the typed
// decoder rejects, because that one also decodes fields that do not affect decisions.
func compare[T any](
	t *testing.T, body []byte, objects Objects[T], typed func([]byte) (*T, error),
) bool {
	return compareKind(t, body, objects, typedKind[T]{typed: typed})
}

func compareKind[T any](t *testing.T, body []byte, objects Objects[T], kind typedKind[T]) bool {
	want, wantErr := typedRequest(body, objects.Kinds, kind.typed)
	got, err := objects.Decode(body)
	if wantErr != nil {
		return false
	}
	if err != nil {
		if kind.lacks == nil || !kind.lacks.MatchString(err.Error()) {
			t.Errorf("the typed decoder accepts it, ours does not: %v", err)
		}
		return false
	}
	if got.Old == nil && want.Old != nil && kind.lacks != nil {
		_, unread := parse(body, objects.readReview)
		if kind.lacks.MatchString(reviewError(body, unread).Error()) {
			want.Old = nil
		}
	}
	for _, object := range []*T{got.Object, got.Old} {
		if object != nil && kind.drop != nil {
			kind.drop(object)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("typed (-), ours (+):\n%s", diff)
	}
	if want, got := annotated(want.Object), annotated(got.Object); want != got {
		t.Errorf("annotations are there: typed %v, ours %v", want, got)
	}
	return true
}

// annotated reports whether an object has annotations, even if they are empty. EquateEmpty does not detect that
// difference.
func annotated(obj any) bool {
	pod, ok := obj.(*object.Pod)
	return ok && pod != nil && pod.Annotations != nil
}

// unmarshal decodes in the same way as the API server. A duplicate name is an error, and an unknown field is not.
func unmarshal(data []byte, v any) error {
	strict, err := json.UnmarshalStrict(data, v)
	if err != nil {
		return err
	}
	for _, err := range strict {
		if strings.Contains(err.Error(), "duplicate field") {
			return err
		}
	}
	return nil
}

func typedRequest[T any](body []byte, kinds []Kind, typed func([]byte) (*T, error)) (*Request[T], error) {
	var review admissionv1.AdmissionReview
	if err := unmarshal(body, &review); err != nil {
		return nil, err
	}
	r := review.Request
	if review.APIVersion != reviewVersion || review.Kind != reviewKind || r == nil || r.UID == "" || r.Operation == "" ||
		!slices.ContainsFunc(kinds, func(k Kind) bool {
			return k.Resource == (Resource{r.Resource.Group, r.Resource.Version, r.Resource.Resource})
		}) {
		return nil, badRequest("not our review")
	}
	req := &Request[T]{
		Head: Head{UID: string(r.UID), DryRun: r.DryRun != nil && *r.DryRun, Attributes: object.Attributes{
			Operation: object.Operation(r.Operation), Namespace: r.Namespace, Name: r.Name,
			Resource: r.Resource.Resource, Group: r.Resource.Group, Subresource: r.SubResource,
			User: r.UserInfo.Username, Groups: r.UserInfo.Groups,
		}},
	}
	for _, o := range []struct {
		raw  []byte
		into **T
	}{{r.Object.Raw, &req.Object}, {r.OldObject.Raw, &req.Old}} {
		if o.raw == nil || string(o.raw) == "null" {
			continue
		}
		obj, err := typed(o.raw)
		if err != nil {
			return nil, err
		}
		*o.into = obj
	}
	if (req.Operation == object.Create || req.Operation == object.Update) && req.Object == nil ||
		req.Operation == object.Update && req.Old == nil {
		return nil, badRequest("not our review")
	}
	return req, nil
}

func typedMeta(m metav1.ObjectMeta) object.Meta {
	meta := object.Meta{
		Name: m.Name, GenerateName: m.GenerateName, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations,
	}
	if owner := metav1.GetControllerOfNoCopy(&m); owner != nil {
		meta.Owner = owner.Kind + "/" + owner.Name
	}
	return meta
}

func typedPod(raw []byte) (*object.Pod, error) {
	var p corev1.Pod
	err := unmarshal(raw, &p)
	return podOf(p.ObjectMeta, p.Spec), err
}

// podOf returns a Kubernetes Pod, or the Pod of a template, in the form for evaluation.
func podOf(meta metav1.ObjectMeta, spec corev1.PodSpec) *object.Pod {
	pod := &object.Pod{Meta: typedMeta(meta)}
	add := func(place object.Place, i int, name, ref string, pull corev1.PullPolicy) {
		pod.Images = append(pod.Images, object.Image{Place: place, Index: i, Name: name, Ref: ref, PullPolicy: string(pull)})
	}
	for i, c := range spec.Containers {
		add(object.Containers, i, c.Name, c.Image, c.ImagePullPolicy)
	}
	for i, c := range spec.InitContainers {
		add(object.InitContainers, i, c.Name, c.Image, c.ImagePullPolicy)
	}
	for i, c := range spec.EphemeralContainers {
		add(object.EphemeralContainers, i, c.Name, c.Image, c.ImagePullPolicy)
	}
	for i, v := range spec.Volumes {
		if v.Image != nil {
			add(object.Volumes, i, v.Name, v.Image.Reference, v.Image.PullPolicy)
		}
	}
	if spec.ImagePullSecrets != nil {
		pod.ImagePullSecrets = []string{}
	}
	for _, s := range spec.ImagePullSecrets {
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, s.Name)
	}
	return pod
}

func typedIngress(raw []byte) (*object.Ingress, error) {
	var in networkingv1.Ingress
	err := unmarshal(raw, &in)
	ing := &object.Ingress{
		Meta: typedMeta(in.ObjectMeta), ClassName: in.Spec.IngressClassName,
	}
	backend := func(in networkingv1.IngressBackend) (b object.IngressBackend) {
		if s := in.Service; s != nil {
			b = object.IngressBackend{Service: s.Name, Port: s.Port.Number, PortName: s.Port.Name}
		}
		if r := in.Resource; r != nil {
			b.ResourceKind, b.ResourceName = r.Kind, r.Name
		}
		return b
	}
	if in.Spec.DefaultBackend != nil {
		ing.DefaultBackend = new(backend(*in.Spec.DefaultBackend))
	}
	for _, r := range in.Spec.Rules {
		rule := object.IngressRule{Host: r.Host}
		if r.HTTP != nil {
			for _, p := range r.HTTP.Paths {
				path := object.IngressPath{Path: p.Path, Backend: backend(p.Backend)}
				if p.PathType != nil {
					path.Type = string(*p.PathType)
				}
				rule.Paths = append(rule.Paths, path)
			}
		}
		ing.Rules = append(ing.Rules, rule)
	}
	for _, tls := range in.Spec.TLS {
		ing.TLS = append(ing.TLS, object.IngressTLS{Hosts: tls.Hosts, SecretName: tls.SecretName})
	}
	return ing, err
}

// typedServices are the types of Kubernetes and of Gateway API, in the order of Services.
func typedServices() []typedKind[object.Service] {
	const spec = `type|ports|externalIPs|externalName|loadBalancerClass|loadBalancerIP|loadBalancerSourceRanges|` +
		`allocateLoadBalancerNodePorts|healthCheckNodePort`
	return []typedKind[object.Service]{
		{typedService, regexp.MustCompile(`\bspec\.externalHostname\b`), func(s *object.Service) { s.ExternalHostname = "" }},
		{typedXBackend, regexp.MustCompile(`\b(spec\.(` + spec + `)|status)\b`), func(s *object.Service) {
			*s = object.Service{Meta: s.Meta, ExternalHostname: s.ExternalHostname}
		}},
	}
}

func typedXBackend(raw []byte) (*object.Service, error) {
	var in gatewayxv1alpha1.XBackend
	err := unmarshal(raw, &in)
	backend := &object.Service{Meta: typedMeta(in.ObjectMeta)}
	if in.Spec.ExternalHostname != nil {
		backend.ExternalHostname = string(in.Spec.ExternalHostname.Hostname)
	}
	return backend, err
}

func typedService(raw []byte) (*object.Service, error) {
	var in corev1.Service
	err := unmarshal(raw, &in)
	s := in.Spec
	svc := &object.Service{
		Meta: typedMeta(in.ObjectMeta), Type: string(s.Type), ExternalIPs: s.ExternalIPs, ExternalName: s.ExternalName, LoadBalancerIP: s.LoadBalancerIP,
		LoadBalancerClass: s.LoadBalancerClass, LoadBalancerSourceRanges: s.LoadBalancerSourceRanges,
		AllocateLoadBalancerNodePorts: s.AllocateLoadBalancerNodePorts, HealthCheckNodePort: s.HealthCheckNodePort,
	}
	for _, p := range s.Ports {
		svc.Ports = append(svc.Ports, object.ServicePort{
			Name: p.Name, Port: p.Port, NodePort: p.NodePort, Protocol: string(p.Protocol),
		})
	}
	return svc, err
}

func typedCertificate(raw []byte) (*object.Certificate, error) {
	var in certmanagerv1.Certificate
	err := unmarshal(raw, &in)
	s := in.Spec
	return &object.Certificate{
		Meta: typedMeta(in.ObjectMeta), CommonName: s.CommonName, LiteralSubject: s.LiteralSubject, DNSNames: s.DNSNames,
		URIs: s.URIs, IPAddresses: s.IPAddresses,
	}, err
}

func typedOpenShiftRoute(raw []byte) (*object.OpenShiftRoute, error) {
	in := struct {
		reviewtest.OpenShiftRoute `json:",inline"`

		Spec *reviewtest.OpenShiftRouteSpec `json:"spec"`
	}{}
	err := unmarshal(raw, &in)
	route := &object.OpenShiftRoute{Meta: typedMeta(in.ObjectMeta)}
	if s := in.Spec; s != nil {
		route.Host, route.Subdomain, route.Path, route.WildcardPolicy = s.Host, s.Subdomain, s.Path, s.WildcardPolicy
		route.Backends = []string{s.To.Kind}
		for _, b := range s.AlternateBackends {
			route.Backends = append(route.Backends, b.Kind)
		}
	}
	return route, err
}

func typedDNSEndpoint(raw []byte) (*object.DNSEndpoint, error) {
	var in reviewtest.DNSEndpoint
	err := unmarshal(raw, &in)
	e := &object.DNSEndpoint{Meta: typedMeta(in.ObjectMeta)}
	for _, record := range in.Spec.Endpoints {
		endpoint := object.Endpoint{DNSName: record.DNSName, RecordType: record.RecordType}
		for _, target := range record.Targets {
			endpoint.OwnershipRecord = endpoint.OwnershipRecord || isOwnership(target)
		}
		for _, p := range record.ProviderSpecific {
			endpoint.Properties = append(endpoint.Properties, object.EndpointProperty{Name: p.Name, Value: p.Value})
		}
		e.Endpoints = append(e.Endpoints, endpoint)
	}
	return e, err
}
