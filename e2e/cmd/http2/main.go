// Command http2 is a TLS server with HTTP/2, which Evergate does not support. A test uses it to measure the effect of a
// dead HTTP/2 connection. It listens on port 8443 with a self-made certificate, and responds with the name of its node.
package main

import (
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/evergate/evergate/e2e/internal/pki"
)

func main() {
	ca, err := pki.NewCA("http2")
	if err != nil {
		log.Fatal(err)
	}
	leaf, err := ca.Leaf("http2.evergate.e2e")
	if err != nil {
		log.Fatal(err)
	}
	pair, err := tls.X509KeyPair(leaf.Cert, leaf.Key)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Addr:              ":8443",
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13},
		ReadHeaderTimeout: 10 * time.Second, // its clients are not slow
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, os.Getenv("NODE"))
		}),
	}
	log.Fatal(server.ListenAndServeTLS("", ""))
}
