// Package examples contains policies, manifests and reviews for trying Evergate. The output of `evergate review` for
// each manifest is in a file next to it.
package examples

import (
	"bytes"
	_ "embed"
)

var (
	//go:embed policies/dev.yaml
	devPolicy []byte
	//go:embed reviews/pod.json
	podReview []byte
	//go:embed reviews/ingress.json
	ingressReview []byte
	//go:embed reviews/service.json
	serviceReview []byte
)

// DevPolicy returns the policy file of `evergate serve --dev`.
func DevPolicy() []byte { return bytes.Clone(devPolicy) }

// PodReview returns an AdmissionReview of a Pod, as kube-apiserver would send it. DevPolicy rewrites one of its
// images.
func PodReview() []byte { return bytes.Clone(podReview) }

// IngressReview returns an AdmissionReview of an Ingress that DevPolicy denies.
func IngressReview() []byte { return bytes.Clone(ingressReview) }

// ServiceReview returns an AdmissionReview of a Service that DevPolicy allows.
func ServiceReview() []byte { return bytes.Clone(serviceReview) }
