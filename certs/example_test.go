package certs_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/evergate/evergate/certs"
	"github.com/evergate/evergate/internal/reload"
)

// A whole server and its self-probe. In a cluster the Source reads a mounted Secret:
//
//	certs.NewSource(certs.Files{Cert: …, Key: …, CA: …, ServerName: "evergate.evergate.svc"}, log, metrics)
func Example() {
	dev, err := certs.NewDev([]string{"localhost", "127.0.0.1"}, time.Now())
	if err != nil {
		panic(err)
	}
	source := dev.Source(slog.New(slog.DiscardHandler), nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := source.Wait(ctx); err != nil {
		panic(err) // contains the reason
	}
	go source.Run(ctx, reload.DefaultInterval) // loads changed files

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") }),
		TLSConfig: certs.ServerConfig(source, tls.VersionTLS13, nil),
		Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	go func() { _ = server.ServeTLS(listener, "", "") }()
	defer server.Close()

	probe := &http.Client{Transport: &http.Transport{TLSClientConfig: source.ProbeConfig(nil)}}
	resp, err := probe.Get("https://" + listener.Addr().String())
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Proto, source.Err())
	// Output: 200 OK HTTP/1.1 <nil>
}
