package cmd

import (
	"os"
	"strings"
	"testing"
)

// The exit code is 0 if all rows are exact, 1 if a row or an image differs, and 2 for bad input.
func TestImportMirrors(t *testing.T) {
	t.Chdir(t.TempDir())
	const exact = "mirrors:\n  docker.io: {endpoint: [https://m.example/v2/hub]}\n"
	const digests = "kind: ImageDigestMirrorSet\n" +
		"spec: {imageDigestMirrors: [{source: quay.io, mirrors: [m.example/quay]}]}\n"
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: nginx}]}}`
	const entry = "mirrors:\n# exact.yaml:2: docker.io: exact\n- name: docker.io\n  sources: [docker.io]\n" +
		"  mirror: m.example/hub\n  mode: enforce\n"
	const differs = "digests.yaml:2: quay.io: differs: quay.io/app was pulled from quay.io/app:latest and is pulled " +
		"from m.example/quay/app:latest with the policy: it is not written: add --accept-differences to write it\n"
	for name, text := range map[string]string{
		"exact.yaml": exact, "digests.yaml": digests, "pod.json": pod, "other.yaml": strings.Replace(exact, "hub", "x", 1),
		"service.yaml": "{apiVersion: v1, kind: Service, metadata: {name: a}}",
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
		"exact": {"exact.yaml", "", 0, entry, "exact.yaml:2: docker.io: exact\n  note: if m.example/hub fails, images are " +
			"not pulled from the original registry\n1 row: 1 exact, 0 different, 0 that cannot be imported\n", "checked"},
		"differs": {"exact.yaml digests.yaml", "", 1, entry, differs, "evergate:"},
		"accepted": {"digests.yaml --accept-differences", "", 1, "  mirror: m.example/quay\n  mode: enforce\n",
			"1 different", "it is not written"},
		"nothing": {"digests.yaml", "", 1, "", differs, "evergate:"},
		"JSON":    {"exact.yaml -o json", "", 0, entry, `"verdict": "exact"`, "docker.io: exact"},
		"images":  {"exact.yaml --check-images -", pod, 0, entry, "1 image checked, 0 pulled from another", "differs"},
		"no images": {"exact.yaml --check-images service.yaml", "", 2, "",
			"evergate: --check-images has no Pods or workloads: use manifests, or kubectl get pods -A -o json\n", "exact"},
		"no file":     {"", "", 2, "", "evergate: no table of mirrors: add a file or - for stdin\n", "exact"},
		"absent file": {"none.yaml", "", 2, "", "evergate: read the table: open none.yaml: ", "exact"},
		"empty":       {"-", "", 2, "", "evergate: -:1: the table is empty: it has no mirrors\n", "exact"},
		"stdin twice": {"- --check-images -", "", 2, "", "evergate: - (stdin) can be read only once", "exact"},
		"two mirrors": {"exact.yaml other.yaml", "", 2, "", "evergate: docker.io has different mirrors: exact.yaml:2: " +
			"m.example/hub, then docker.io; other.yaml:2: m.example/x, then docker.io\n", "exact,"},
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
