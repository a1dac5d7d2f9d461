// Package apiserver lists what a cluster holds of the kinds that are judged. It asks the API server what it serves each
// time, so that kinds whose CRDs came later are listed too, and reads page by page: one object is in memory at a time.
// It sends nothing but GET.
//
//	client.go   one GET: credentials, retries, what a refusal says
//	objects.go  what is served → pages → objects
package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/evergate/evergate/internal/text"
)

// ServiceAccount is the directory that holds the token of a Pod's service account, and the certificates of the cluster.
const ServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// Client sends GET requests to an API server.
type Client struct {
	server    *url.URL
	transport http.RoundTripper
	token     string // its file, which kubelet replaces before the token expires; empty for none
}

// New returns a client of the API server at a URL. To https:// it shows the token in credentials, a directory with the
// files token and ca.crt, and trusts the certificates there. To http:// it shows nothing: kubectl proxy adds
// credentials of its own.
func New(server, credentials string) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%s is not the URL of an API server: write https://kubernetes.default.svc, or "+
			"http://127.0.0.1:8001 for kubectl proxy", text.Quote(server))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if u.Scheme == "http" {
		return &Client{u, transport, ""}, nil
	}
	pem, err := os.ReadFile(filepath.Join(credentials, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the API server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the certificates of the API server: no certificate in %s", credentials)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &Client{u, transport, filepath.Join(credentials, "token")}, nil
}

// Over returns a client of the API server at a URL, whose credentials are those of the transport.
func Over(server *url.URL, transport http.RoundTripper) *Client {
	return &Client{server, transport, ""}
}

const (
	// answerTimeout is for one answer with its body: the API server ends a request after 60 s (--request-timeout).
	answerTimeout = 2 * time.Minute
	// attempts is how often a request is sent that the API server sheds (429): as often as client-go does.
	attempts = 10
	// maxRetryAfter bounds what the API server may ask to wait; priority and fairness asks for a second.
	maxRetryAfter = 30 * time.Second
	// maxRefusal is how much of a refusal is read: a Status has some hundred bytes.
	maxRefusal = 64 << 10
	// maxMessage is how many bytes of its message are shown: that of a forbidden List has some 200.
	maxMessage = 500
)

// statusError is a refusal.
type statusError struct {
	code      int
	message   string
	continued string // of a List whose pages have expired (410): asks for the rest as it is now
}

func (e *statusError) Error() string {
	return strings.TrimSuffix("the API server answers "+strconv.Itoa(e.code)+": "+e.message, ": ")
}

// Answered returns the code with which the API server has refused a request; 0 where err is something else.
func Answered(err error) int {
	if refusal, ok := errors.AsType[*statusError](err); ok {
		return refusal.code
	}
	return 0
}

// get returns the body of an answer, which the caller must close. An answer other than 200 is a *statusError.
func (c *Client) get(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	for attempt := 1; ; attempt++ {
		resp, err := c.send(ctx, path, query)
		if err != nil {
			cancel()
			return nil, err
		}
		if resp.StatusCode == http.StatusOK {
			return &body{resp.Body, cancel}, nil
		}
		refusal := readRefusal(resp)
		if refusal.code != http.StatusTooManyRequests || attempt == attempts {
			cancel()
			return nil, refusal
		}
		select {
		case <-time.After(retryAfter(resp)):
		case <-ctx.Done():
			cancel()
			return nil, refusal
		}
	}
}

func (c *Client) send(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	target := c.server.JoinPath(path)
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "evergate")
	if c.token != "" {
		token, err := os.ReadFile(c.token)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return c.transport.RoundTrip(req) // which follows no redirect: the token is for this server
}

// body is that of an answer. Its deadline ends with it.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// readRefusal reads the Status in an answer that is not 200. A body that holds none leaves the message empty.
func readRefusal(resp *http.Response) *statusError {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	err = errors.Join(err, resp.Body.Close())
	var status struct {
		Message  string `json:"message"`
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
	}
	if err != nil || json.Unmarshal(data, &status) != nil {
		return &statusError{code: resp.StatusCode}
	}
	return &statusError{resp.StatusCode, text.Printable(status.Message, maxMessage), status.Metadata.Continue}
}

// retryAfter returns how long the server wants a client to wait, one second where it does not say.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}
