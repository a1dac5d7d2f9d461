package calls

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/hostile"
	"github.com/evergate/evergate/e2e/internal/process"
)

const (
	// memoryLimit is the GOMEMLIMIT of these processes. The calculated maximum of live memory under one kind of attack
	// is well below it:
	//
	//	 88 MiB  1,280 connections (lifecycle.DefaultMaxConnections), 70 KiB each: stack, TLS, a header at its limit
	//	 64 MiB  bodies (handlers.Limits)
	//	 80 MiB  allocations for decoding the largest reviews, four at a time on two cores
	memoryLimit = 400 << 20

	// memoryBound is the maximum resident memory of a process under any one kind of attack. GOMEMLIMIT does not count
	// the pages of the binary. An idle process uses 26 MiB.
	memoryBound = memoryLimit + 20<<20

	maxConnections = 1280                  // lifecycle.DefaultMaxConnections
	maxFiles       = 2*maxConnections + 64 // on both ports, and listeners, and legitimate clients between two connections

	crowd         = 2500 // peers: more than maxConnections
	honestClients = 4
)

// TestHostilePeers runs each kind of hostile peer against a separate process that legitimate clients call all the time.
// No legitimate call fails, and the process stays within its limits of memory and open files.
func TestHostilePeers(t *testing.T) {
	notShort(t)
	const (
		// Each response closes its connection, so legitimate clients have to connect again for every call.
		anew = "--max-connection-age=1ms"
		// Legitimate clients, and peers that have received a response, keep their connections.
		keep = "--max-connection-age=5m"
	)
	for _, test := range []struct {
		name   string
		age    string
		attack func(context.Context, *siege)
	}{
		{"slow headers", anew, slowHeaders},
		{"headers that stop at the limit", anew, stoppedHeaders},
		{"endless headers", anew, endlessHeaders},
		{"slow bodies", anew, slowBodies},
		{"a few large bodies that stop", anew, stoppedBodies},
		{"ten thousand that say nothing", anew, silence},
		{"ten thousand TLS connections", keep, tenThousand},
		{"half a TLS hello", anew, halfHello},
		{"plain HTTP", anew, plainHTTP},
		{"TLS 1.0", anew, oldTLS},
		{"25 MiB", anew, tooLarge},
		{"19 MiB, many at once", anew, large},
		{"garbage after the JSON", anew, garbage},
		{"answers that are not read", keep, unread},
	} {
		t.Run(test.name, func(t *testing.T) {
			if peak := besiege(t, test.attack, test.age); peak > memoryBound {
				t.Errorf("the process used %d MiB, its limit is %d MiB", peak>>20, memoryBound>>20)
			}
		})
	}
}

// siege is a process with its legitimate clients and the peers of an attack.
type siege struct {
	*testing.T
	server *process.Process
	load   *client.Load
	behind sync.WaitGroup // peers that are still opening connections
}

// besiege starts a process and its legitimate clients, and checks the effects of an attack. Peers of the attack stay
// until the legitimate clients have been served among them. It returns the peak of resident memory.
func besiege(t *testing.T, attack func(context.Context, *siege), args ...string) int64 {
	t.Helper()
	t.Setenv("GOMEMLIMIT", strconv.Itoa(memoryLimit))
	c := newCluster(t, product(t), args...)
	return c.besiege(t, c.client(client.ClusterIP), attack)
}

// besiege does the same with an existing cluster and legitimate client.
func (c *cluster) besiege(t *testing.T, apiServer *client.Client, attack func(context.Context, *siege)) int64 {
	t.Helper()
	s := &siege{T: t, server: c.start()}
	c.service.Set(s.server.Addr)
	s.load = c.load(apiServer, honestClients)
	s.honest(50)

	ctx, end := context.WithCancel(t.Context())
	defer end()
	attack(ctx, s)
	s.honest(300)
	files, err := s.server.Files()
	must(t, err)
	end()
	s.behind.Wait()
	s.honest(50)
	memory, err := s.server.Memory()
	must(t, err)
	report := s.load.Stop()
	t.Logf("peak memory %d MiB, open files %d", memory.Peak>>20, files)
	noneLost(t, report)
	if files > maxFiles {
		t.Errorf("the process had %d files open, its limit is %d", files, maxFiles)
	}
	return memory.Peak
}

// honest waits until n more legitimate calls have ended.
func (s *siege) honest(n int64) {
	s.Helper()
	await(s.T, "honest clients", s.load.After(n))
}

// peers opens n TLS connections that write text and stay until ctx ends.
func (s *siege) peers(ctx context.Context, n int, text string) *hostile.Peers {
	s.Helper()
	p, err := hostile.OpenTLS(ctx, s.server.Addr, n, say(text))
	must(s.T, err)
	return p
}

// peersThatWait is like peers, for peers that send more than the server reads and therefore never end by themselves.
func (s *siege) peersThatWait(ctx context.Context, n int, text string) {
	s.behind.Go(func() {
		if _, err := hostile.OpenTLS(ctx, s.server.Addr, n, say(text)); err != nil && ctx.Err() == nil {
			s.Error(err)
		}
	})
}

func say(text string) func(net.Conn) error {
	return func(c net.Conn) error {
		_, err := io.WriteString(c, text)
		return err
	}
}

// each makes n requests and checks that all have the same result.
func (s *siege) each(n int, want string, request func() string) {
	s.Helper()
	for end, times := range hostile.Each(n, 16, request) {
		if !strings.Contains(end, want) {
			s.Errorf("%d of %d ended with %.300s, want %s", times, n, end, want)
		}
	}
}

// ask returns the response to a request, which is sent unchanged, in one line.
func (s *siege) ask(ctx context.Context, header string, body []byte) string {
	answer, err := hostile.Ask(ctx, s.server.Addr, io.MultiReader(strings.NewReader(header), bytes.NewReader(body)))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", answer.Status, answer.Body)
}

// answered is the start of the response to a review, as ask returns it.
const answered = `200 {"apiVersion":"admission.k8s.io/v1"`

const openHeader = "POST /validate/pods HTTP/1.1\r\nHost: evergate\r\nX-Slow: "

func slowHeaders(ctx context.Context, s *siege) {
	peers := s.peers(ctx, crowd, openHeader)
	for range 5 {
		s.honest(50)
		peers.Say("x")
	}
}

func stoppedHeaders(ctx context.Context, s *siege) {
	// net/http allows 4 KiB more than MaxHeaderBytes.
	s.peers(ctx, crowd, openHeader+strings.Repeat("x", 19<<10))
}

func endlessHeaders(ctx context.Context, s *siege) {
	endless := bytes.Repeat([]byte("X-Endless: for ever and ever\r\n"), 4000)
	s.each(500, "431 ", func() string { return s.ask(ctx, "GET /livez HTTP/1.1\r\nHost: evergate\r\n", endless) })
}

// slowBodies sends bodies that hold 32 KiB each, and together more than the limit for all bodies.
func slowBodies(ctx context.Context, s *siege) {
	peers := s.peers(ctx, crowd, hostile.Post("/validate/pods", 1<<20)+strings.Repeat(" ", 5<<10))
	for range 5 {
		s.honest(50)
		peers.Say(strings.Repeat(" ", 1<<10))
	}
}

// Four stoppedBodies would hold the whole memory for bodies.
func stoppedBodies(ctx context.Context, s *siege) {
	s.peersThatWait(ctx, 16, hostile.Post("/validate/pods", 20<<20)+strings.Repeat(" ", 3<<20))
	s.honest(1000)
}

func silence(ctx context.Context, s *siege) {
	_, err := hostile.Open(ctx, s.server.Addr, 10_000, say(""))
	must(s.T, err)
}

func halfHello(ctx context.Context, s *siege) {
	_, err := hostile.Open(ctx, s.server.Addr, crowd, say("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))
	must(s.T, err)
}

func plainHTTP(ctx context.Context, s *siege) {
	s.each(500, "400 Client sent an HTTP request to an HTTPS server.", func() string {
		answer, err := hostile.AskPlain(ctx, s.server.Addr,
			strings.NewReader("GET /livez HTTP/1.1\r\nHost: evergate\r\n\r\n"))
		return fmt.Sprint(answer.Status, " ", answer.Body, err)
	})
}

func oldTLS(ctx context.Context, s *siege) {
	s.each(500, "protocol version not supported", func() string {
		return fmt.Sprint(hostile.Handshake(ctx, s.server.Addr, tls.VersionTLS10))
	})
}

func tooLarge(ctx context.Context, s *siege) {
	body := podOf(25 << 20)
	s.each(48, "the review of this object has 25.0 MiB, at most 20.0 MiB are evaluated: make the object smaller",
		func() string {
			return s.ask(ctx, hostile.Post("/mutate/pods", len(body)), body)
		})
}

func large(ctx context.Context, s *siege) {
	body := podOf(19 << 20)
	s.each(48, answered, func() string {
		return s.ask(ctx, hostile.Post("/mutate/pods", len(body)), body)
	})
}

func garbage(ctx context.Context, s *siege) {
	body := append(podOf(0), "garbage"...)
	s.each(500, "400 ", func() string { return s.ask(ctx, hostile.Post("/mutate/pods", len(body)), body) })
}

// Unread peers continue to send requests until the server, which waits for them to read, does not accept any more.
func unread(ctx context.Context, s *siege) {
	s.peersThatWait(ctx, 40, strings.Repeat("GET /livez HTTP/1.1\r\nHost: evergate\r\n\r\n", 20_000))
	s.honest(300)
}

// The second half of the peers have received a response and are idle, like an API server's connections. New legitimate
// clients are served among them.
func tenThousand(ctx context.Context, s *siege) {
	s.peers(ctx, 5_000, "")
	var newcomers sync.WaitGroup
	defer newcomers.Wait()
	newcomers.Go(func() {
		body := podOf(0)
		s.each(1000, answered, func() string { return s.ask(ctx, hostile.Post("/mutate/pods", len(body)), body) })
	})
	s.peers(ctx, 5_000, "GET /livez HTTP/1.1\r\nHost: evergate\r\n\r\n")
}

// podOf returns the review of a Pod with an annotation of this size.
func podOf(annotation int) []byte {
	return fmt.Appendf(nil, `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
		"uid": "705ab4f5", "kind": {"group": "", "version": "v1", "kind": "Pod"},
		"resource": {"group": "", "version": "v1", "resource": "pods"},
		"namespace": "team-a", "operation": "CREATE", "userInfo": {},
		"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "annotations": {"large": "%s"}},
			"spec": {"containers": [{"name": "web", "image": "nginx"}]}},
		"oldObject": null, "dryRun": false}}`, bytes.Repeat([]byte("x"), annotation))
}
