package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"reflect"
)

const (
	// maxChain is the largest number of certificates that a client may present. An API server presents its own
	// certificate and usually one or two intermediates.
	maxChain = 6

	// maxChainBytes limits the memory that a client's certificates may take. The server keeps them for as long as the
	// connection lasts, and they take up to 23 times as many bytes as the client sent. Six certificates with 4,096-bit
	// keys take 30 KiB.
	maxChainBytes = 64 << 10
)

// checkChain fails the handshake if the client's certificates would take too much memory. It does not verify them.
func checkChain(state tls.ConnectionState) error {
	if n := len(state.PeerCertificates); n > maxChain {
		return fmt.Errorf("the client presents %d certificates, at most %d are accepted", n, maxChain)
	}
	size := len(state.OCSPResponse)
	for _, sct := range state.SignedCertificateTimestamps {
		size += len(sct)
	}
	for _, c := range state.PeerCertificates {
		size += sizeOf(c)
	}
	if size > maxChainBytes {
		return fmt.Errorf("the client's certificates take %d KiB of memory, at most %d are accepted", size>>10,
			maxChainBytes>>10)
	}
	return nil
}

// sizeOf returns approximately how many bytes of memory a parsed certificate takes.
func sizeOf(c *x509.Certificate) int {
	v := reflect.ValueOf(*c)
	return len(c.Raw) + int(v.Type().Size()) + beyond(v)
}

// beyond returns how many bytes v refers to, without v itself. It skips byte slices, because they share the memory of
// the certificate's Raw field, which sizeOf counts.
func beyond(v reflect.Value) int {
	n := 0
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			n = int(v.Type().Elem().Size()) + beyond(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			n = int(v.Elem().Type().Size()) + beyond(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0
		}
		n = v.Len() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			n += beyond(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			n += beyond(field)
		}
	}
	return n
}
