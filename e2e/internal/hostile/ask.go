package hostile

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// Answer is the response to a peer.
type Answer struct {
	Status int
	Body   string
}

// Ask sends a request unchanged, byte for byte, on a new TLS connection, and returns the response. It continues to send
// while it reads, because a server may respond before it has read everything.
func Ask(ctx context.Context, addr string, request io.Reader) (Answer, error) {
	conn, err := dial(ctx, addr, 0)
	if err != nil {
		return Answer{}, err
	}
	return ask(ctx, tls.Client(conn, Unverified()), request)
}

// AskPlain is like Ask, without TLS.
func AskPlain(ctx context.Context, addr string, request io.Reader) (Answer, error) {
	conn, err := dial(ctx, addr, 0)
	if err != nil {
		return Answer{}, err
	}
	return ask(ctx, conn, request)
}

func ask(ctx context.Context, conn net.Conn, request io.Reader) (Answer, error) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() { _, _ = io.Copy(conn, request) }() // ends with the connection
	return readAnswer(conn)
}

func readAnswer(r io.Reader) (Answer, error) {
	resp, err := http.ReadResponse(bufio.NewReader(r), nil)
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer's body: %w", err)
	}
	return Answer{resp.StatusCode, string(body)}, nil
}

// Handshake tries a TLS handshake with one version. It returns the reason if the handshake fails, and nil if it
// succeeds.
func Handshake(ctx context.Context, addr string, version uint16) error {
	conn, err := dial(ctx, addr, 0)
	if err != nil {
		return err
	}
	defer conn.Close()
	config := Unverified()
	config.MinVersion, config.MaxVersion = version, version
	return tls.Client(conn, config).HandshakeContext(ctx)
}

// WithCertificate returns the TLS configuration of a peer that presents a client certificate to any server.
func WithCertificate(c tls.Certificate) *tls.Config {
	config := Unverified()
	config.Certificates = []tls.Certificate{c}
	return config
}

// Unverified returns the TLS configuration of a peer that does not verify the server.
func Unverified() *tls.Config { return &tls.Config{InsecureSkipVerify: true} } //nolint:gosec // it says so

// Each calls f n times, with at most atOnce concurrent calls, and returns how often each result occurred.
func Each(n, atOnce int, f func() string) map[string]int {
	var mu sync.Mutex
	ends := map[string]int{}
	together(n, atOnce, func(int) {
		end := f()
		mu.Lock()
		defer mu.Unlock()
		ends[end]++
	})
	return ends
}

// Post returns a request for a review to path, with a header that announces length bytes of JSON.
func Post(path string, length int) string {
	return fmt.Sprintf("POST %s?timeout=30s HTTP/1.1\r\nHost: evergate\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\n\r\n",
		path, length)
}
