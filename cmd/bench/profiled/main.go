// Profiled is evergate with an additional port for net/http/pprof. The product does not have this port.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"github.com/evergate/evergate/cmd"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the process
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, `{"msg":"profiles","address":%q}`+"\n", l.Addr())
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.Handle("/debug/pprof/allocs", pprof.Handler("allocs"))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second} // its only client is on this machine
	go func() { _ = s.Serve(l) }()
	os.Exit(cmd.Run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
