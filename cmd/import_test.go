package cmd

import (
	"os"
	"strings"
	"testing"
)

// The exit code is 0 if all rows are exact, 1 if a row or an image differs, and 2 for bad input.
func TestImportMirrors(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		exact   = "mirrors:\n  docker.io: {endpoint: [https://m.example/v2/hub]}\n"
		digests = "kind: ImageDigestMirrorSet\n" +
			"spec: {imageDigestMirrors: [{source: quay.io, mirrors: [m.example/quay]}]}\n"
		pods  = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{image: nginx}]}}`
		entry = "mirrors:\n# exact.yaml:2: docker.io: exact, without fallback\n- name: docker.io-1\n" +
			"  sources: [docker.io]\n  mirror: m.example/hub\n  mode: enforce\n"
		none    = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
		differs = "digests.yaml:2: quay.io: differs: quay.io/app was pulled from quay.io/app:latest, and is pulled from " +
			"m.example/quay/app:latest, without fallback\n"
	)
	for name, text := range map[string]string{
		"exact.yaml": exact, "digests.yaml": digests, "other.yaml": strings.Replace(exact, "hub", "x", 1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		args                  string
		stdin                 string
		code                  int
		stdout, stderr, never string // parts of the outputs
	}{
		"exact":   {"exact.yaml", "", 0, entry, "1 row: 1 exact, 0 different, 0 that cannot be imported\n", "checked"},
		"differs": {"exact.yaml digests.yaml", "", 1, entry, differs, "evergate:"},
		"accepted": {"digests.yaml --accept-differences", "", 1, "  mirror: m.example/quay\n  mode: enforce\n",
			"1 different", "evergate:"},
		"nothing": {"digests.yaml", "", 1, none, differs, "evergate:"},
		"JSON":    {"exact.yaml -o json", "", 0, entry, `"verdict": "exact"`, "docker.io: exact"},
		"images":  {"exact.yaml --check-images -", pods, 0, entry, "1 image checked, 0 pulled from another", "differs"},
		"other image": {"digests.yaml --check-images -", strings.Replace(pods, "nginx", "quay.io/x@sha256:"+
			strings.Repeat("0", 64), 1), 1, none, "1 image checked, 1 pulled from another", "evergate:"},
		"no images":   {"exact.yaml --check-images other.yaml", "", 2, entry, "other.yaml:1: ", "unknown"},
		"no file":     {"", "", 2, "", "evergate: no table of mirrors: add a file or - for stdin\n", "exact"},
		"absent file": {"none.yaml", "", 2, "", "evergate: open none.yaml: ", "exact"},
		"empty":       {"-", "", 2, "", "evergate: stdin:1: the table is empty: it has no mirrors\n", "exact"},
		"too long":    {"-", strings.Repeat("#", 1<<20+1), 2, "", "evergate: stdin has more than 1,048,576 bytes", "exact"},
		"stdin twice": {"- --check-images -", "", 2, "", "evergate: - (stdin) can be read only once", "exact"},
		"two mirrors": {"exact.yaml other.yaml", "", 2, "", "evergate: docker.io has different mirrors: m.example/hub in " +
			"exact.yaml:2, and m.example/x in other.yaml:2: remove one\n", "exact,"},
	} {
		var stdout, stderr strings.Builder
		args := append([]string{"import", "mirrors"}, strings.Fields(test.args)...)
		code := Run(t.Context(), args, nil, strings.NewReader(test.stdin), &stdout, &stderr)
		if code != test.code || !strings.HasSuffix(stdout.String(), test.stdout) || test.stdout == "" && stdout.Len() > 0 ||
			!strings.Contains(stderr.String(), test.stderr) || strings.Contains(stderr.String(), test.never) {
			t.Errorf("%s: exit code %d\n%s\n%s", name, code, stdout.String(), stderr.String())
		}
	}
}
