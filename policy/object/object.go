package object

import (
	"strconv"
	"strings"
	"time"
)

// Operation is the operation of a request, as in admission.k8s.io/v1.
type Operation string

// These are the operations that Evergate evaluates. It allows the other operations (DELETE, CONNECT) without an
// evaluation.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
)

// Attributes contains the parts of a review other than the object itself, such as the user, the operation and the
// resource.
type Attributes struct {
	Operation   Operation
	Namespace   string
	Name        string // empty on a CREATE with generateName
	Resource    string // plural, as in "pods"
	Group       string // of the resource, as in "apps"; empty for the core group
	Subresource string // as in "ephemeralcontainers" or "status"; empty for the object itself
	User        string
	Groups      []string

	// Now is the time of the request. It decides which exceptions have expired. If Now is the zero time, exceptions never
	// expire.
	Now time.Time
}

// Meta is the part of an object's metadata that decisions depend on.
type Meta struct {
	Name         string
	GenerateName string
	Namespace    string
	Labels       map[string]string
	// Annotations is nil if the field is absent or null. A patch must then add the map first.
	Annotations map[string]string
	// Owner is the controlling owner as Kind/name, for reports. It is empty if the object does not have a controlling
	// owner.
	Owner string
}

// Metadata returns m. Every object has this method, because it embeds its metadata.
func (m *Meta) Metadata() *Meta { return m }

// MaxAnnotationKey is the length of the longest key in bytes: a prefix of 253, a slash and a name of 63.
const MaxAnnotationKey = 253 + 1 + 63

// Pod is the part of a Pod that decisions depend on, which is its metadata and its images.
type Pod struct {
	Meta
	// Images lists all images of the Pod in the order of Place. Volumes without an image and containers without a profile
	// do not have an element.
	Images []Image
	// ImagePullSecrets lists the names in spec.imagePullSecrets. It is nil if the field is absent or null. A patch must
	// then add the list first.
	ImagePullSecrets []string
}

// OriginalsAnnotation is the Pod annotation that records the original images of rewritten images, for users. Its value
// is a JSON object that maps the place of each image, such as containers/app, to the image. No decision depends on it,
// because tenants can write it.
const OriginalsAnnotation = "evergate.dev/original-images"

// HasRecord reports whether a Pod has a record of original images, valid or not.
func (p *Pod) HasRecord() bool { return p.Annotations[OriginalsAnnotation] != "" }

// Image is one image of a Pod and its field.
type Image struct {
	Place Place
	Index int    // in the list of Place; 0 for PodProfile
	Name  string // of the container or volume; empty for PodProfile
	Ref   string // the image exactly as it is written; may be empty or malformed
	// PullPolicy is Always, IfNotPresent or PullNever. It is empty if it is absent, for example in a manifest.
	PullPolicy string
}

// PullNever is the pull policy of an image that the kubelet does not pull. It looks up the image's name on the node.
const PullNever = "Never"

// Place is a part of a Pod that contains images: a list, or the seccomp profiles of the Pod or of a list of containers.
type Place uint8

// These are the places of images. The profiles of a list of containers are as many places after ContainerProfiles as
// the list is after Containers.
const (
	Containers Place = iota
	InitContainers
	EphemeralContainers
	Volumes
	PodProfile
	ContainerProfiles
	InitContainerProfiles
	EphemeralContainerProfiles
	ResourceField // a field of a custom resource; PodTemplate.Path is its path
)

// HasPullPolicy reports whether the images of the place have a pull policy. The other places are ResourceField and
// artifacts with seccomp profiles (seccompProfile.oci), an alpha field of Kubernetes 1.38. The types of k8s.io/api in
// go.mod do not have this field.
func (p Place) HasPullPolicy() bool { return p <= Volumes }

// String returns the name of the field in a Pod spec, for profiles with a suffix. Records of original images use it.
func (p Place) String() string {
	return [...]string{"containers", "initContainers", "ephemeralContainers", "volumes", "seccompProfile",
		"containers.seccompProfile", "initContainers.seccompProfile", "ephemeralContainers.seccompProfile", ""}[p]
}

// Path returns the field of the image as users write it, for example spec.containers[0].image.
func (i Image) Path() string {
	switch i.Place {
	case PodProfile:
		return "spec." + i.field(".")
	case ResourceField:
		return "spec" // PodTemplate.Path replaces it
	}
	list, _, _ := strings.Cut(i.Place.String(), ".")
	return "spec." + list + "[" + strconv.Itoa(i.Index) + "]." + i.field(".")
}

// AppendPointer appends the field of the image as a JSON Pointer (RFC 6901), for example /spec/containers/0/image.
func (i Image) AppendPointer(b []byte) []byte {
	b = append(b, "/spec/"...)
	if i.Place != PodProfile {
		list, _, _ := strings.Cut(i.Place.String(), ".")
		b = append(strconv.AppendInt(append(append(b, list...), '/'), int64(i.Index), 10), '/')
	}
	return append(b, i.field("/")...)
}

// field returns the field of the image in its list element, or in the spec of the Pod. sep separates the names of
// nested fields.
func (i Image) field(sep string) string {
	switch {
	case i.Place >= PodProfile:
		return "securityContext" + sep + "seccompProfile" + sep + "oci" + sep + "ref"
	case i.Place == Volumes:
		return "image" + sep + "reference"
	}
	return "image"
}

// Ingress is the part of a networking.k8s.io/v1 Ingress that decisions depend on.
type Ingress struct {
	Meta
	ClassName      *string         // nil when absent
	DefaultBackend *IngressBackend // nil when absent
	Rules          []IngressRule
	TLS            []IngressTLS
}

// IngressRule is one element of spec.rules. An empty Host means every host.
type IngressRule struct {
	Host  string
	Paths []IngressPath
}

// IngressPath is one element of spec.rules[].http.paths.
type IngressPath struct {
	Path    string
	Type    string // Exact, Prefix or ImplementationSpecific; empty if absent
	Backend IngressBackend
}

// IngressBackend receives requests of an Ingress. It is a port of a Service, or a resource of another kind.
type IngressBackend struct {
	Service                    string // empty for a resource
	Port                       int32  // 0 if the port has a name
	PortName                   string
	ResourceKind, ResourceName string // empty for a Service
}

// IngressTLS is one element of spec.tls. If Hosts is empty, the element means the hosts in the controller's default
// certificate.
type IngressTLS struct {
	Hosts      []string
	SecretName string // empty means the controller's default certificate
}

// Service is the part of a v1 Service that decisions depend on. It is also used for a Gateway API XBackend, which
// routes may reference instead of a Service. For an XBackend, only Meta and ExternalHostname are set.
type Service struct {
	Meta
	Type                          string // ClusterIP, NodePort, LoadBalancer or ExternalName; empty means ClusterIP
	Ports                         []ServicePort
	ExternalIPs                   []string
	ExternalName                  string
	LoadBalancerClass             *string // nil when absent
	LoadBalancerIP                string
	LoadBalancerSourceRanges      []string
	AllocateLoadBalancerNodePorts *bool // nil when absent, which means true
	HealthCheckNodePort           int32 // 0 if not set
	LoadBalancerIngress           []LoadBalancerIngress
	// ExternalHostname is spec.externalHostname.hostname of an XBackend. It is the host outside the cluster to which
	// routes send requests. It is empty for an XBackend that selects Pods.
	ExternalHostname string
}

// LoadBalancerIngress is one element of status.loadBalancer.ingress. It contains an address, a host name, or both.
type LoadBalancerIngress struct {
	IP, Hostname string
	IPMode       string // VIP or Proxy; empty means VIP
	Ports        string // the JSON of ports
}

// ServicePort is one element of spec.ports.
type ServicePort struct {
	Name     string
	Port     int32
	NodePort int32  // 0 if not set; the API server allocates node ports before admission
	Protocol string // TCP, UDP or SCTP; empty means TCP
}
