package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"reflect"
)

const (
	// maxChain is how many certificates a client may present. An API server's certificate has one above it, or two.
	maxChain = 6

	// maxChainBytes is how much memory a client's certificates may take, which is kept for as long as the connection
	// lasts: up to 23 times as much as the bytes that were sent. Six of 4,096 bits take 30 KiB.
	maxChainBytes = 64 << 10
)

// checkChain refuses the handshake of a client whose certificates would take too much memory. It does not verify them.
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

// sizeOf returns about how many bytes of memory a parsed certificate takes.
func sizeOf(c *x509.Certificate) int {
	v := reflect.ValueOf(*c)
	return len(c.Raw) + int(v.Type().Size()) + beyond(v)
}

// beyond returns how many bytes a value refers to, without itself. Bytes in a certificate lie in its Raw and are not
// counted again.
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
