// Package host reads host names: the names in a certificate, the names of DNS records, URIs, and the values of the
// annotations by which controllers claim hosts.
package host
