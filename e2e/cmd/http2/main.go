// Command http2 is what Evergate is not: a TLS server that speaks HTTP/2, for the test of what a dead connection costs
// then. It answers with the name of the node that it runs on, on port 8443, with a certificate that no client
// has to trust.
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
		ReadHeaderTimeout: 10 * time.Second, // no client is slow here
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, os.Getenv("NODE"))
		}),
	}
	log.Fatal(server.ListenAndServeTLS("", ""))
}
