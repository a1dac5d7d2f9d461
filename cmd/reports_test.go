package cmd

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestReports runs inputs that were rebuilt from public reports about similar software, and from attempts to bypass
// rules. Each input once had a wrong result.
func TestReports(t *testing.T) {
	const certManager = "system:serviceaccount:cert-manager:cert-manager"
	review := []string{"review", "--policy", "policy.yaml", "-f", "object.yaml"}
	for name, test := range map[string]struct {
		args  []string
		code  int
		want  []string // in the output
		never []string
	}{
		// A solver must serve plain HTTP before the certificate exists.
		"solver-ingress": {args: append(review, "--user", certManager), never: []string{"tls.required"}},
		// A tenant that imitates a solver is not exempt.
		"solver-ingress by a tenant": {args: append(review, "--user", "jane"), code: 1, want: []string{"tls.required"}},
		// Annotations set the certificate, and plain HTTP is not served.
		"tls-by-annotation": {args: review, never: []string{"plain HTTP"}},
		// A controller replaces the placeholder before the Pod is created.
		"placeholder-image": {args: review, never: []string{"denied", "warned"}},
		"placeholder-image, enforced": {
			args:  []string{"review", "--policy", "policy-enforce.yaml", "-f", "object.yaml"},
			never: []string{"denied", "warned"},
		},
		// kubelet looks up a preloaded image by its name on the node, so only the other image is rewritten.
		"pull-policy-never": {
			args:  review,
			code:  1, // images.from finds the image that is not rewritten
			want:  []string{"mirror.corp.example/docker.io/library/nginx"},
			never: []string{"preloaded:1.2 → "},
		},
		// The annotation contains an image that the Pod no longer uses.
		"stale-record": {
			args:  []string{"plan", "--old", "policy.yaml", "--new", "next.yaml", "-f", "object.yaml", "--from-record"},
			never: []string{"newly denied"},
		},
		// The owner of _acme-challenge.x can obtain certificates for x and *.x.
		"challenge-names": {args: review, code: 1, want: []string{"2 denied"}},
		// Each annotation serves or publishes a host of another namespace.
		"host-annotations": {args: review, code: 1, want: []string{"denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _, _ := strings.Cut(name, " by ")
			dir, _, _ = strings.Cut(dir, ",")
			t.Chdir(filepath.Join("testdata", "reports", dir))
			var stdout, stderr bytes.Buffer
			code := Run(t.Context(), test.args, nil, strings.NewReader(""), &stdout, &stderr)
			out := stdout.String() + stderr.String()
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, s := range test.want {
				if !strings.Contains(out, s) {
					t.Errorf("the output lacks %q", s)
				}
			}
			for _, s := range test.never {
				if strings.Contains(out, s) {
					t.Errorf("the output has %q", s)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}
