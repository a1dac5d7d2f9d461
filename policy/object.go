package policy

import (
	"strconv"
	"time"
)

// Operation is the operation of a request, as admission.k8s.io/v1 has it.
type Operation string

// The operations that Evergate judges; the others (DELETE, CONNECT) are allowed without judging.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
)

// Attributes is the part of a review that is not the object itself: the user, the operation and the resource.
type Attributes struct {
	Operation   Operation
	Namespace   string
	Name        string // empty on a CREATE with generateName
	Resource    string // plural, as in "pods"
	Group       string // of the resource, as in "apps"; empty for the core group
	Subresource string // as in "ephemeralcontainers" or "status"; empty for the object itself
	User        string
	Groups      []string

	// Now is the time of the request, by which exceptions end. At the zero time none has ended.
	Now time.Time
}

// Meta is the part of an object's metadata that decisions depend on.
type Meta struct {
	Name         string
	GenerateName string
	Namespace    string
	Labels       map[string]string
	// Annotations is nil when the object has no such field (or null): a patch must then add the map first.
	Annotations map[string]string
	// Owner is the controlling owner as Kind/name, for reports; empty when there is none.
	Owner string
}

// Pod is the part of a Pod that decisions depend on: its metadata and its images.
type Pod struct {
	Meta
	// Images lists all images of the Pod, in the order containers, initContainers, ephemeralContainers, volumes. It has
	// no element for volumes that are not image volumes.
	Images []Image
	// ImagePullSecrets lists the names in spec.imagePullSecrets; nil where the field is absent or null: a patch must then
	// add the list first.
	ImagePullSecrets []string
}

// Image is one image of a Pod and its field.
type Image struct {
	Place Place
	Index int    // in the list that Place names
	Name  string // of the container or volume
	Ref   string // the image exactly as it is written; may be empty or malformed
	// Never says that the pull policy is Never: kubelet does not pull the image, but looks up its name on the node.
	Never bool
}

// Place is one of the lists of a Pod that have images.
type Place uint8

// The lists of a Pod spec that have images.
const (
	Containers Place = iota
	InitContainers
	EphemeralContainers
	Volumes
)

var placeNames = [...]string{
	Containers: "containers", InitContainers: "initContainers",
	EphemeralContainers: "ephemeralContainers", Volumes: "volumes",
}

// String returns the field of the list in a Pod spec.
func (p Place) String() string { return placeNames[p] }

// Path returns the field of the image, as users write it: spec.containers[0].image.
func (i Image) Path() string {
	return "spec." + i.Place.String() + "[" + strconv.Itoa(i.Index) + "]." + i.field(".")
}

// AppendPointer appends the field of the image as a JSON Pointer (RFC 6901): /spec/containers/0/image.
func (i Image) AppendPointer(b []byte) []byte {
	b = append(append(b, "/spec/"...), i.Place.String()...)
	b = strconv.AppendInt(append(b, '/'), int64(i.Index), 10)
	return append(append(b, '/'), i.field("/")...)
}

// field returns the field of an element that has the image.
func (i Image) field(sep string) string {
	if i.Place == Volumes {
		return "image" + sep + "reference"
	}
	return "image"
}

// Ingress is the part of a networking.k8s.io/v1 Ingress that decisions depend on.
type Ingress struct {
	Meta
	ClassName      *string // nil when absent
	DefaultBackend bool    // spec.defaultBackend is present
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
	Path string
	Type string // Exact, Prefix, ImplementationSpecific; empty when absent
}

// IngressTLS is one element of spec.tls. Empty Hosts means the hosts of the controller's default certificate.
type IngressTLS struct {
	Hosts      []string
	SecretName string // empty for the controller's default certificate
}

// Service is the part that decisions depend on of a v1 Service, and of an XBackend of Gateway API, which is what routes
// may have in place of a Service. An XBackend has metadata and ExternalHostname alone.
type Service struct {
	Meta
	Type                          string // ClusterIP, NodePort, LoadBalancer or ExternalName; empty means ClusterIP
	Ports                         []ServicePort
	ExternalIPs                   []string
	ExternalName                  string
	LoadBalancerClass             *string // nil when absent
	LoadBalancerSourceRanges      []string
	AllocateLoadBalancerNodePorts *bool // nil when absent, which means true
	HealthCheckNodePort           int32 // 0 when not set
	LoadBalancerIngress           []LoadBalancerIngress
	// ExternalHostname is spec.externalHostname.hostname of an XBackend: the host outside of the cluster to which routes
	// send requests. It is empty for an XBackend that selects Pods.
	ExternalHostname string
}

// LoadBalancerIngress is one element of status.loadBalancer.ingress: an address, a host name, or both.
type LoadBalancerIngress struct {
	IP, Hostname string
	IPMode       string // VIP or Proxy; empty means VIP
	Ports        string // the JSON of ports
}

// ServicePort is one element of spec.ports.
type ServicePort struct {
	Name     string
	Port     int32
	NodePort int32 // 0 when not set: the API server allocates node ports before admission
}
