// Package claim reads the hosts that objects claim, and checks them. A claim is the set of hosts that one field or
// annotation of an object claims.
//
// [OfIngress], [OfService] and so on return the claims of an object. The view of the object keeps them in a [Set].
// [Checks] compiles the hosts block of an entry, and [OwnerRules] compiles the owners block.
//
//	claim.go        claims and their fields
//	ingress.go      the claims of an Ingress, and the hosts that its spec.tls covers
//	routes.go       the claims of Gateway API routes, Gateways and OpenShift Routes
//	records.go      the claims of Certificates and DNSEndpoints
//	rules.go        the hosts block and its checks
//	owners.go       the owners block and its check; shared_namespaces.go, the sharedGatewayNamespaces block
//	annotations.go  the annotations that claim hosts; annotation_prefixes.go, annotation_rows.go and
//	                globbing_classes.go, the blocks about them
package claim
