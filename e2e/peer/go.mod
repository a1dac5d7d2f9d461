// A webhook that uses controller-runtime, in a separate module because the server must not depend on this library.
module github.com/evergate/evergate/e2e/peer

go 1.26.8

require (
	k8s.io/api v0.37.2
	k8s.io/apimachinery v0.37.2
	sigs.k8s.io/controller-runtime v0.24.1
)
