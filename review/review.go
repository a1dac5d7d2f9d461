// Package review is the wire: AdmissionReview bytes in, AdmissionReview bytes out, and the JSON of the objects between
// them turned into what package policy judges. It reads only the fields that decide and checks all the rest to be JSON.
package review

import "github.com/evergate/evergate/policy"

// Request is the request of an admission.k8s.io/v1 AdmissionReview.
type Request[T any] struct {
	UID string
	policy.Attributes
	DryRun bool
	Object *T // nil on DELETE
	Old    *T // nil on CREATE
}

// DecodePod reads a review of a v1 Pod.
func DecodePod(body []byte) (*Request[policy.Pod], error) { return nil, nil }

// DecodeIngress reads a review of a networking.k8s.io/v1 Ingress.
func DecodeIngress(body []byte) (*Request[policy.Ingress], error) { return nil, nil }

// DecodeService reads a review of a v1 Service.
func DecodeService(body []byte) (*Request[policy.Service], error) { return nil, nil }

// ParsePod reads a v1 Pod from its JSON.
func ParsePod(object []byte) (*policy.Pod, error) { return nil, nil }

// ParseIngress reads a networking.k8s.io/v1 Ingress from its JSON.
func ParseIngress(object []byte) (*policy.Ingress, error) { return nil, nil }

// ParseService reads a v1 Service from its JSON.
func ParseService(object []byte) (*policy.Service, error) { return nil, nil }

// Answer is what a review is answered with.
type Answer struct {
	UID              string
	Allowed          bool
	Message          string // why not; only when Allowed is false
	Warnings         []string
	AuditAnnotations map[string]string
	Patch            []Operation // empty: no patch is sent
}

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Encode returns the AdmissionReview that carries the answer. All fields of the protocol are filled in here.
func (a Answer) Encode() []byte { return nil }
