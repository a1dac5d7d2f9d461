// Package apiserver lists the objects in a cluster that Evergate validates. It requests the list of served resources
// for each run, so it also finds kinds whose CRDs were added later. It reads page by page and keeps one object in
// memory at a time. Only Apply and Delete send other requests than GET.
//
//	client.go   one request: credentials, retries, errors
//	objects.go  served resources → pages → objects
package apiserver

import (
	"bytes"
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

// ServiceAccount is the directory that contains the token of a Pod's service account and the CA certificates of the
// cluster.
const ServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// Client sends requests to an API server.
type Client struct {
	server    *url.URL
	transport http.RoundTripper
	token     string // file with the token, which kubelet replaces before it expires; may be empty
}

// New returns a client for the API server at a URL. For https://, it sends the token in credentials, a directory with
// the files token and ca.crt, and it trusts the certificates in ca.crt. For http://, it does not send credentials,
// because kubectl proxy adds its credentials.
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
		return nil, fmt.Errorf("read the CA certificates of the API server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the CA certificates of the API server: no certificate in %s", credentials)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &Client{u, transport, filepath.Join(credentials, "token")}, nil
}

// Over returns a client for the API server at a URL. The transport adds credentials.
func Over(server *url.URL, transport http.RoundTripper) *Client {
	return &Client{server, transport, ""}
}

const (
	// answerTimeout limits one response including its body. The API server ends a request after 60 s
	// (--request-timeout).
	answerTimeout = 2 * time.Minute
	// attempts is the maximum number of times that a request is sent if the API server sheds load (429). client-go
	// uses the same number.
	attempts = 10
	// maxRetryAfter limits the wait that the API server may request. API Priority and Fairness requests one second.
	maxRetryAfter = 30 * time.Second
	// maxStatus limits the bytes of an error response that are read. A Status has a few hundred bytes.
	maxStatus = 64 << 10
	// maxMessage limits the bytes of a message that are shown. The message about a forbidden List has about 200.
	maxMessage = 500
)

// statusError is an error response.
type statusError struct {
	code      int
	message   string
	continued string // for a List with expired pages (410), the token for the rest of the list in its current state
}

func (e *statusError) Error() string {
	return strings.TrimSuffix("the API server answers "+strconv.Itoa(e.code)+": "+e.message, ": ")
}

// Answered returns the status code of an error response, or 0 if err is another error.
func Answered(err error) int {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.code
	}
	return 0
}

// get returns the body of a response. The caller must close it. An error status returns a *statusError.
func (c *Client) get(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	return c.do(ctx, http.MethodGet, path, query, nil)
}

// Apply creates or replaces the object at a path by a server-side apply of its JSON.
func (c *Client) Apply(ctx context.Context, path string, object []byte) error {
	owner := url.Values{"fieldManager": {"evergate"}, "force": {"true"}}
	return discard(c.do(ctx, http.MethodPatch, path, owner, object))
}

// Delete deletes the object at a path.
func (c *Client) Delete(ctx context.Context, path string) error {
	return discard(c.do(ctx, http.MethodDelete, path, nil, nil))
}

func discard(response io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	return response.Close()
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, data []byte) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	for attempt := 1; ; attempt++ {
		resp, err := c.send(ctx, method, path, query, data)
		if err != nil {
			cancel()
			return nil, err
		}
		if resp.StatusCode/100 == 2 {
			return &body{resp.Body, cancel}, nil
		}
		status := readStatus(resp)
		if status.code != http.StatusTooManyRequests || attempt == attempts {
			cancel()
			return nil, status
		}
		select {
		case <-time.After(retryAfter(resp)):
		case <-ctx.Done():
			cancel()
			return nil, status
		}
	}
}

func (c *Client) send(
	ctx context.Context, method, path string, query url.Values, data []byte,
) (*http.Response, error) {
	target := c.server.JoinPath(path)
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "evergate")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	if c.token != "" {
		token, err := os.ReadFile(c.token)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return c.transport.RoundTrip(req) // RoundTrip does not follow redirects: the token is only for this server
}

// body is the body of a response. Closing it releases the deadline.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// readStatus reads the Status in an error response. If the body is not a Status, the message is empty.
func readStatus(resp *http.Response) *statusError {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
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

// retryAfter returns the time to wait before the next attempt. The default is one second.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}
