package policy

import "github.com/evergate/evergate/internal/text"

// allowHTTPAnnotation tells some controllers not to serve plain HTTP beside TLS.
const allowHTTPAnnotation = "kubernetes.io/ingress.allow-http"

// tlsAllowHTTP is tls.allowHTTP: it finds an Ingress whose annotation kubernetes.io/ingress.allow-http is not exactly
// "false": controllers serve plain HTTP when it is absent, and do not agree on other spellings.
type tlsAllowHTTP struct{}

func (tlsAllowHTTP) find(ing *Ingress, r *report) {
	value, set := ing.Annotations[allowHTTPAnnotation]
	if value == "false" {
		return
	}
	found := "is not set"
	if set {
		found = "is " + text.Quote(value)
	}
	// No value: whatever it says instead, the fault is the same.
	r.add(identity{check: "tls.allowHTTP"}, annotationPath(allowHTTPAnnotation),
		found+`; set it to "false", so that plain HTTP is not served`)
}
