package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // the connection of client-go's spdy is of its type
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Dialer connects to a port of a Pod.
type Dialer interface {
	Dial(ctx context.Context, pod string, port int) (net.Conn, error)
}

// forwarder connects like kubectl port-forward, but without a local port. The API server calls the kubelet of the
// Pod, and the kubelet connects inside the Pod, where NetworkPolicies do not apply. The subresource pods/proxy is not
// an alternative, because its connections come from the address of the API server, which the NetworkPolicy of the
// base manifests does not allow.
type forwarder struct {
	config    *rest.Config
	pods      rest.Interface
	namespace string
}

// Dial connects to a port of a Pod. It returns an error when ctx ends before the connection is established.
func (f *forwarder) Dial(ctx context.Context, pod string, port int) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() { // the dialers of client-go do not accept a context
		conn, err := f.dial(pod, port)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("port-forward to %s: %w", pod, r.err)
		}
		return r.conn, nil
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.conn.Close()
			}
		}()
		return nil, fmt.Errorf("port-forward to %s: %w", pod, ctx.Err())
	}
}

func (f *forwarder) dial(pod string, port int) (net.Conn, error) {
	to := f.pods.Post().Resource("pods").Namespace(f.namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(f.config)
	if err != nil {
		return nil, err
	}
	// WebSockets pass proxies in front of API servers. SPDY is for API servers before 1.30.
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(to, f.config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialer(tunnel,
		spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, to),
		func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) })
	connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	conn, err := open(connection, port)
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return conn, nil
}

// maxForwardError limits the bytes of an error message from kubelet.
const maxForwardError = 1 << 10

// open opens the two streams of a connection. A message on the error stream ends the data stream.
func open(connection httpstream.Connection, port int) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failures, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	if err := failures.Close(); err != nil { // the error stream is only read
		return nil, err
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	c := &conn{Stream: data, connection: connection, failed: make(chan error, 1)}
	go func() {
		said, err := io.ReadAll(io.LimitReader(failures, maxForwardError))
		if err == nil && len(said) > 0 {
			c.failed <- errors.New(string(said))
			_ = connection.Close() // readers get the error above
		}
		close(c.failed)
	}()
	return c, nil
}

// conn is a connection to a Pod. It ignores deadlines, because http.Transport closes connections whose context ends.
type conn struct {
	httpstream.Stream
	connection httpstream.Connection
	failed     chan error
}

// Read returns the error message of kubelet instead of io.EOF if the connection has failed.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err != nil && n == 0 {
		select {
		case failure, ok := <-c.failed:
			if ok {
				return 0, failure
			}
		default:
		}
	}
	return n, err
}

// Close closes both streams.
func (c *conn) Close() error { return c.connection.Close() }

func (c *conn) LocalAddr() net.Addr              { return address{} }
func (c *conn) RemoteAddr() net.Addr             { return address{} }
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// address represents the unknown address of a Pod.
type address struct{}

func (address) Network() string { return "tcp" }
func (address) String() string  { return "pod" }
