package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/e2e/internal/tool"
)

// start runs a registry on loopback for one test, or skips the test if it has not been built.
func start(t *testing.T) *Registry {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	r, err := Start(ctx, tool.Need(t, "registry"), t.TempDir(), "127.0.0.1")
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		r.Wait()
		if t.Failed() {
			t.Log(r.Log())
		}
	})
	return r
}

// pull sends a request like a client, with a login if user is not empty.
func (r *Registry) pull(t *testing.T, path, user, password string) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", manifestType)
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, body
}

func TestPullWithLogin(t *testing.T) {
	r := start(t)
	file := File{Name: "token", Data: []byte("a")}
	pushed, err := r.Push(t.Context(), "team/app", "1", []string{"/token"}, file)
	if err != nil {
		t.Fatal(err)
	}
	status, header, body := r.pull(t, "/v2/team/app/manifests/1", r.User, r.Password)
	if got := header.Get("Docker-Content-Digest"); status != http.StatusOK || got != pushed || digest(body) != pushed {
		t.Fatalf("the manifest: %d, digest %s, want 200, %s: %s", status, got, pushed, body)
	}
	var manifest struct{ Layers []descriptor }
	if err := json.Unmarshal(body, &manifest); err != nil {
		t.Fatal(err)
	}
	_, layer, err := pack([]File{file})
	if err != nil {
		t.Fatal(err)
	}
	blob := "/v2/team/app/blobs/" + manifest.Layers[0].Digest
	if status, _, body := r.pull(t, blob, r.User, r.Password); status != http.StatusOK || !bytes.Equal(body, layer) {
		t.Errorf("the layer: %d, %d bytes; want 200, %d bytes", status, len(body), len(layer))
	}
	r.logged(t, blob, "127.0.0.1 puller GET "+blob+" 200")
}

func TestNoPullWithoutLogin(t *testing.T) {
	r := start(t)
	if _, err := r.Push(t.Context(), "team/app", "1", []string{"/a"}, File{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	for name, login := range map[string][2]string{
		"none": {}, "another user": {"guest", r.Password}, "another password": {r.User, "guess"},
	} {
		status, header, _ := r.pull(t, "/v2/team/app/manifests/1", login[0], login[1])
		if got := header.Get("WWW-Authenticate"); status != http.StatusUnauthorized || got != `Basic realm="mirror"` {
			t.Errorf("%s: %d, %s; want 401 and a challenge", name, status, got)
		}
	}
	const unauthorized = "127.0.0.1 - GET /v2/team/app/manifests/1 401"
	r.logged(t, "/v2/team/app/manifests/1", unauthorized, unauthorized, unauthorized)
}

// The same content is the same image, and different content is a different image.
func TestDigestIsOfContent(t *testing.T) {
	r := start(t)
	var digests []string
	for i, data := range []string{"a", "a", "b"} {
		pushed, err := r.Push(t.Context(), fmt.Sprintf("app-%d", i), "1", nil, File{Name: "f", Data: []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, pushed)
	}
	if digests[0] != digests[1] || digests[0] == digests[2] {
		t.Errorf("digests of a, a, b: %v", digests)
	}
}

// logged waits for the last expected request to a path, and compares the log with all expected requests.
func (r *Registry) logged(t *testing.T, path string, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a response is logged within milliseconds
	defer cancel()
	var got []string
	_, err := r.Await(ctx, func(request Request) bool {
		if request.Method == http.MethodGet && request.Path == path {
			got = append(got, request.String())
		}
		return len(got) == len(want)
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("the log of requests to %s: %v\n%s", path, err, diff)
	}
}
