package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/images"
	"github.com/evergate/evergate/policy"
)

// The manifests of the fake registry: an index for linux/amd64 and linux/arm/v7, and an image for windows/amd64.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	index        = `{"schemaVersion": 2, "manifests": [` + ofIndex + `{"os": "linux", "architecture": "amd64"}}, ` +
		ofIndex + `{"os": "linux", "architecture": "arm", "variant": "v7"}}]}`
	ofIndex = `{"mediaType": "` + manifestType + `", "digest": "sha256:` + zeros + `", "size": 2, "platform": `
	zeros   = "0000000000000000000000000000000000000000000000000000000000000000"
	config  = `{"os": "windows", "architecture": "amd64"}`
)

// registry returns the host of a registry whose repositories behave as their names. It fails the test for a request
// that is neither HEAD nor part of a check of platforms.
func registry(t *testing.T) string {
	t.Helper()
	contents := map[string]string{
		indexType: index, configType: config,
		manifestType: fmt.Sprintf(`{"schemaVersion": 2, "config": {"mediaType": %q, "digest": %q, "size": %d}, "layers": []}`,
			configType, digest.FromString(config), len(config)),
	}
	send := func(w http.ResponseWriter, mediaType string) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", digest.FromString(contents[mediaType]).String())
		w.Header().Set("Content-Length", fmt.Sprint(len(contents[mediaType])))
		fmt.Fprint(w, contents[mediaType])
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		repository, version, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/hub/library/"), "/")
		if user, password, _ := r.BasicAuth(); repository == "locked" && (user != "puller" || password != "s3cret") {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		switch repository {
		case "present", "locked":
			if r.Method != http.MethodHead && !strings.Contains(version, "sha256:") {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			send(w, indexType)
		case "windows":
			if strings.HasPrefix(version, "blobs/") {
				send(w, configType)
				return
			}
			send(w, manifestType)
		case "absent":
			http.Error(w, "", http.StatusNotFound)
		case "limited":
			http.Error(w, "", http.StatusTooManyRequests)
		case "login":
			fmt.Fprint(w, "<html>")
		case "loop":
			http.Redirect(w, r, r.URL.Path+"?token=s3cret", http.StatusTemporaryRedirect)
		case "elsewhere":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://s3cret@192.0.2.1:bad/"`)
			http.Error(w, "", http.StatusUnauthorized)
		default:
			t.Errorf("%s %s", r.Method, r.URL)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// files writes a policy with a mirror, manifests of Pods and a Docker configuration, and returns the arguments.
func files(t *testing.T, mirror, docker string, names ...string) []string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	var pods strings.Builder
	for _, name := range names {
		fmt.Fprintf(&pods, "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{image: %q}]}}\n", name)
	}
	contents := map[string]string{"config.json": docker, "pods.yaml": pods.String(), "policy.yaml": policyFor(mirror, "")}
	for name, text := range contents {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"images", "--missing", "--plain-http", "-p", dir + "/policy.yaml", dir + "/pods.yaml"}
}

func policyFor(mirror, exclude string) string {
	return fmt.Sprintf("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nmirrors:\n- name: hub\n  mode: warn\n"+
		"  sources: [docker.io]\n  mirror: %s/hub\n%s", mirror, exclude)
}

func TestMissing(t *testing.T) {
	login := `{"auths": {%q: {"auth": "` + base64.StdEncoding.EncodeToString([]byte("puller:s3cret")) + `"}}}`
	broken := `{"auths": {%q: {"auth": "` + base64.StdEncoding.EncodeToString([]byte("s3cret")) + `"}}}`
	const unknown = "Pod default/p: %s could not be checked: "
	const invalid = unknown + "the answer, or the login in the Docker configuration, is not valid"
	const noLogin = unknown + "401 Unauthorized, and no login in the Docker configuration"
	const noArm64 = unknown + "it does not have the platform linux/arm64"
	const noAmd64 = unknown + "it does not have the platform linux/amd64"
	const space = `Pod default/p: "a b": not an image reference: it has the character ' ', which no image reference has`
	for name, test := range map[string]struct {
		image, docker string
		platform      string
		code          int
		want          string // the error, after the image
	}{
		"present":           {"present:1", "{}", "", cli.OK, ""},
		"no tag":            {"present", "{}", "", cli.OK, ""},
		"absent":            {"absent:1", "{}", "", cli.Found, "Pod default/p: %s is missing"},
		"login":             {"locked:1", login, "", cli.OK, ""},
		"no login":          {"locked:1", "{}", "", cli.Usage, noLogin},
		"broken login":      {"locked:1", broken, "", cli.Usage, invalid},
		"too many requests": {"limited:1", "{}", "", cli.Usage, unknown + "429 Too Many Requests"},
		"not a registry":    {"login:1", "{}", "", cli.Usage, invalid},
		"redirects":         {"loop:1", "{}", "", cli.Usage, unknown + "stopped after 10 redirects"},
		"bad realm":         {"elsewhere:1", "{}", "", cli.Usage, unknown + `invalid port ":bad" after host`},
		"platform":          {"present:1", "{}", "linux/amd64", cli.OK, ""},
		"variant":           {"present:1", "{}", "linux/arm/v7", cli.OK, ""},
		"another platform":  {"present:1", "{}", "linux/arm64", cli.Usage, noArm64},
		"image, not index":  {"windows:1", "{}", "windows/amd64", cli.OK, ""},
		"another image":     {"windows:1", "{}", "linux/amd64", cli.Usage, noAmd64},
		"absent, platform":  {"absent:1", "{}", "linux/amd64", cli.Found, "Pod default/p: %s is missing"},
		"malformed":         {"a b", "{}", "", cli.Found, space},
	} {
		t.Run(name, func(t *testing.T) {
			host := registry(t)
			if strings.Contains(test.docker, "%") {
				test.docker = fmt.Sprintf(test.docker, host)
			}
			if strings.Contains(test.want, "%s") {
				test.want = fmt.Sprintf(test.want, host+"/hub/library/"+test.image)
			}
			if test.want != "" {
				test.want = "evergate: " + test.want + "\n"
			}
			var stdout, stderr bytes.Buffer
			args := append(files(t, host, test.docker, test.image), "--platform", test.platform)
			if code := run(t.Context(), args, nil, &stdout, &stderr); code != test.code || stderr.String() != test.want {
				t.Errorf("exit code %d, want %d: %s, want %s", code, test.code, &stderr, test.want)
			}
			if missing := stdout.Len() > 0; missing != strings.HasPrefix(test.image, "absent") {
				t.Errorf("stdout: %s", &stdout)
			}
		})
	}
}

// The block excludes the missing images, and a policy with it loads without warnings.
func TestMissingIsExcluded(t *testing.T) {
	host := registry(t)
	var stdout, stderr bytes.Buffer
	args := files(t, host, "{}", "absent:1", "present:1", "docker.io/absent:1",
		"absent@sha256:"+zeros, "absent")
	if code := run(t.Context(), args, nil, &stdout, &stderr); code != cli.Found {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	const want = "mirrors:\n- exclude:\n    images:\n    - docker.io/library/absent\n    - docker.io/library/absent:1\n" +
		"    - docker.io/library/absent@sha256:"
	if !strings.HasPrefix(stdout.String(), want) {
		t.Fatalf("%s, want %s", &stdout, want)
	}
	block := strings.Replace(strings.TrimPrefix(stdout.String(), "mirrors:\n"), "- exclude", "  exclude", 1)
	block = strings.Replace(block, "  name: hub\n", "", 1)
	p, err := policy.Load(policy.File{Name: "policy.yaml", Data: []byte(policyFor(host, block))})
	if err != nil || len(p.Warnings()) > 0 {
		t.Fatal(err, p.Warnings())
	}
	for _, row := range images.New(offline.Options{Policy: p}, offline.Read(args[len(args)-1:], nil)).Rows {
		if excluded := row.Target == ""; excluded != strings.Contains(row.Name, "absent") {
			t.Errorf("%+v", row)
		}
	}
}

// hangs is a transport to registries that never answer.
type hangs struct{ requests atomic.Int32 }

func (h *hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A registry that does not answer costs one timeout, however many images it has.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var transport hangs
		r := &registryClient{Client: auth.Client{Client: &http.Client{Transport: &transport}}, timeout: time.Minute}
		list := &images.List{Report: &offline.Report{}}
		for i := range 10_000 {
			list.Rows = append(list.Rows, images.Row{Name: "x", Target: fmt.Sprintf("m.example/x:%d", i), First: "Pod p"})
		}
		var stdout, stderr bytes.Buffer
		began := time.Now()
		err := (&app{stdout: &stdout, stderr: &stderr}).missing(t.Context(), r, list)
		if took := time.Since(began); took != time.Minute || transport.requests.Load() > 8 || stdout.Len() > 0 {
			t.Errorf("%s, %d requests, %s", took, transport.requests.Load(), &stdout)
		}
		if lines := strings.Count(stderr.String(), "no answer within 1m0s\n"); lines != 100 ||
			!strings.HasSuffix(stderr.String(), "\nevergate: and 9,900 more\n") {
			t.Errorf("%v, %d lines: %s", err, lines, &stderr)
		}
	})
}

// An interrupted check does not report images as missing.
func TestInterruptedCheck(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if code := run(ctx, files(t, registry(t), "{}", "absent:1"), nil, &out, &out); code != cli.Interrupted ||
		strings.Contains(out.String(), "missing") {
		t.Errorf("exit code %d: %s", code, &out)
	}
}
