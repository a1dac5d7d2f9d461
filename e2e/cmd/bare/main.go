// Command bare is a webhook that allows every review. With it, tests measure the time that the API server itself adds
// to a request. It accepts Evergate's command line, and uses the addresses and the certificate.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	flags := map[string]string{}
	for _, arg := range os.Args[1:] {
		if name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "="); ok {
			flags[name] = value
		}
	}
	fine := func(http.ResponseWriter, *http.Request) {}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", fine)
	mux.HandleFunc("GET /readyz", fine)
	mux.HandleFunc("POST /", review)
	ended := make(chan error, 1)
	go func() { ended <- server(flags["ops-listen"], mux).ListenAndServe() }()
	go func() { ended <- server(flags["listen"], mux).ListenAndServeTLS(flags["tls-cert"], flags["tls-key"]) }()
	log.Fatal(<-ended)
}

func server(address string, handler http.Handler) *http.Server {
	s := &http.Server{
		Addr: address, Handler: handler, Protocols: new(http.Protocols),
		ReadHeaderTimeout: time.Minute,     // its clients are not slow
		IdleTimeout:       3 * time.Minute, // above the client's 90 s, as in evergate
	}
	s.Protocols.SetHTTP1(true) // as in evergate
	return s
}

// review reads a body into memory of its size. Its response contains the first uid in the body, which is the uid of the
// review.
func review(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength < 0 {
		http.Error(w, "no length", http.StatusLengthRequired)
		return
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, rest, _ := bytes.Cut(body, []byte(`"uid":"`))
	uid, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		http.Error(w, "no uid", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",`+
		`"response":{"uid":"%s","allowed":true}}`, uid)
}
