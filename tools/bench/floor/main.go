// Floor has the lowest possible cost of a webhook. With net/http and TLS, it reads the body and sends a constant
// response. It does not decode or decide anything. Evergate's cost is expressed as a multiple of the floor's.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// answer is as long as the response to a review that is allowed without warnings.
const answer = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":` +
	`{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true,"auditAnnotations":{"policy":"0123456789ab"}}}`

func main() {
	cert := flag.String("tls-cert", "", "`file` of the serving certificate")
	key := flag.String("tls-key", "", "`file` of its key")
	flag.Parse()
	if err := serve(*cert, *key); err != nil {
		log.Fatal(err)
	}
}

func serve(cert, key string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends when it is killed
	if err != nil {
		return err
	}
	// The format is the same as in evergate's log, so both servers can be started in the same way.
	fmt.Fprintf(os.Stderr, `{"msg":"phase changed","to":"ready","address":%q}`+"\n", l.Addr())
	s := &http.Server{
		Handler:           http.HandlerFunc(review),
		Protocols:         new(http.Protocols),
		IdleTimeout:       3 * time.Minute, // above the client's 90 s, as for evergate
		ReadHeaderTimeout: 3 * time.Minute,
	}
	s.Protocols.SetHTTP1(true)
	return s.ServeTLS(l, cert, key)
}

// review reads a body into memory of its size, in one piece. Every webhook has to do at least this.
func review(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = io.WriteString(w, answer) // it fails if the client has disconnected
}
