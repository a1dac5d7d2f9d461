package mirrors

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

// imported imports files, and returns the policy and the report.
func imported(t *testing.T, accept bool, names ...string) (policy, report string) {
	t.Helper()
	var files []File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{strings.TrimPrefix(filepath.ToSlash(name), "testdata/import/"), data})
	}
	table, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Import(table, accept)
	if err != nil {
		t.Fatal(err)
	}
	p := output.Printer{}
	x.Report(nil).WriteText(&p)
	return x.Policy(), p.String()
}

// TestImport compares each file in testdata/import with FILE.want, which has the report, and the policy with all rows
// that can be written. Both loads of the policy must succeed, with the rows that differ and without them.
func TestImport(t *testing.T) {
	names, err := filepath.Glob("testdata/import/*")
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".want") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			inputs := []string{name}
			if filepath.Base(name) == "certs.d" {
				inputs, _ = filepath.Glob(name + "/*/hosts.toml")
			}
			_, report := imported(t, false, inputs...)
			accepted, _ := imported(t, true, inputs...)
			golden(t, "import/"+filepath.Base(name)+".want", report+"\n"+accepted)
			if _, err := policy.Load(policy.File{Name: "policy", Data: []byte(accepted)}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Bad input is an error with the file and the line.
func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		file, text, want string
	}{
		"another kind": {"a.yaml", "apiVersion: v1\nkind: Pod\n",
			"a.yaml:2: kind Pod has no mirrors: use ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy"},
		"a policy": {"a.yaml", header + "mirrors: []\n", "a.yaml:2: kind EvergatePolicy has no mirrors: use " +
			"ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy"},
		"another file": {"a.yaml", "# text\nname: x\n", "a.yaml:2: it is not a table of mirrors: use objects of OpenShift, " +
			"registries.conf, hosts.toml, registries.yaml or the rules of harbor-container-webhook"},
		"truncated YAML": {"a.yaml", "mirrors:\n  docker.io:\n    endpoint: [https://m.exa",
			"a.yaml:2: did not find expected ',' or ']'"},
		"truncated TOML": {"r.conf", "[[registry]]\nlocation = \"docker.i", "r.conf:2: unterminated basic string"},
		"empty":          {"a.yaml", "# nothing\n", "a.yaml:1: the table is empty: it has no mirrors"},
		"empty table":    {"r.conf", "short-name-mode = \"enforcing\"\n", "r.conf:1: the table is empty: it has no mirrors"},
		"unknown field of OpenShift": {"a.yaml", "kind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n" +
			"  - source: a.example\n    mirror: b.example\n",
			"a.yaml:5: unknown field mirror: use mirrorSourcePolicy, mirrors, source"},
		"another list of OpenShift": {"a.yaml", "kind: ImageTagMirrorSet\nspec:\n  imageDigestMirrors: []\n",
			"a.yaml:3: unknown field imageDigestMirrors: use imageTagMirrors"},
		"unknown policy": {"a.yaml", "kind: ImageTagMirrorSet\nspec:\n  imageTagMirrors:\n" +
			"  - {source: a.example, mirrorSourcePolicy: Never}\n",
			"a.yaml:4: unknown mirrorSourcePolicy Never: use AllowContactingSource or NeverContactSource"},
		"no source": {"a.yaml", "kind: ImageTagMirrorSet\nspec: {imageTagMirrors: [{mirrors: [a.example]}]}\n",
			"a.yaml:2: a set of mirrors has no source: add it"},
		"a wrong type": {"a.yaml", "kind: ImageTagMirrorSet\nspec:\n  imageTagMirrors:\n  - source: a.example\n" +
			"    mirrors: b.example\n", "a.yaml:5: cannot unmarshal !!str `b.example` into []string"},
		"unknown field of registries.conf": {"r.conf", "[[registry]]\nlocation = \"a.example\"\nblock = true\n",
			"r.conf:3: unknown field registry.block: remove it"},
		"no location": {"r.conf", "[[registry]]\nlocation = \"a.example\"\n[[registry]]\nprefix = \"b.example\"\n",
			"r.conf:3: a registry has no location: add it"},
		"a mirror with a scheme": {"r.conf", "[[registry]]\nlocation = \"a.example\"\n[[registry.mirror]]\n" +
			"location = \"https://m.example\"\n", "r.conf:1: \"https://m.example\" is not the location of a mirror: use a " +
			"registry or a registry and a path, without https://"},
		"unknown pull-from-mirror": {"r.conf", "[[registry]]\nlocation = \"a.example\"\nmirror = [{location = \"m.example\", " +
			"pull-from-mirror = \"never\"}]\n",
			"r.conf:1: unknown pull-from-mirror never: use all, digest-only or tag-only"},
		"unknown field of hosts.toml": {"docker.io/hosts.toml", "server = \"https://docker.io\"\n[host.\"https://m.example\"]\n" +
			"capability = []\n", "docker.io/hosts.toml:3: unknown field host.https://m.example.capability: remove it"},
		"no folder": {"hosts.toml", "server = \"https://m.example\"\n", "hosts.toml:1: the folder of hosts.toml is the name of " +
			"its registry: use a path such as certs.d/docker.io/hosts.toml"},
		"no URL": {"docker.io/hosts.toml", "server = \"https://\"\n", "docker.io/hosts.toml:1: \"https://\" is not the URL of " +
			"a mirror: use a URL such as https://mirror.example"},
		"unknown field of registries.yaml": {"a.yaml", "mirrors:\n  docker.io:\n    endpoints: []\n",
			"a.yaml:3: unknown field endpoints: use endpoint, rewrite"},
		"a wrong rewrite": {"a.yaml", "mirrors:\n  docker.io:\n    rewrite:\n      \"(\": x\n",
			"a.yaml:4: error parsing regexp: missing closing ): `(`"},
		"unknown field of a rule": {"a.yaml", "rules:\n- name: x\n  match: [x]\n", "a.yaml:3: unknown field match: use " +
			"authSecretName, checkUpstream, excludes, matches, name, platforms, replace, replaceImagePullSecrets"},
		"no replace": {"a.yaml", "rules:\n- {name: x, matches: [x]}\n",
			"a.yaml:2: rule \"x\" has no matches or no replace: add it"},
		"different mirrors": {"a.yaml", "mirrors:\n  docker.io: {endpoint: [m.example]}\n---\nkind: ImageDigestMirrorSet\n" +
			"spec: {imageDigestMirrors: [{source: docker.io, mirrors: [n.example], mirrorSourcePolicy: NeverContactSource}]}\n",
			"docker.io has different mirrors: a.yaml:2: m.example, then docker.io; a.yaml:5: n.example for digests"},
	} {
		if _, err := Read([]File{{test.file, []byte(test.text)}}); err == nil || err.Error() != test.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, test.want)
		}
	}
}

// The import of an export gives the same table.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range 300 {
		var table Table
		for _, registry := range []string{"docker.io", "quay.io", "reg.example:5000", "gcr.io"} {
			prefix := registry + pick("", "", "/acme", "/a/b_c")
			place := pick("m.example", "m.example:5000", "localhost:5000") + pick("", "/hub", "/a/b_c/x.y")
			if r.IntN(3) > 0 {
				table = append(table, Row{Prefix: prefix, Mirrors: []Mirror{{Place: place}}, Fallback: r.IntN(2) == 0})
			}
		}
		for _, target := range Targets() {
			whole := table
			if target.Name == HostsTOML {
				whole = nil
				for _, row := range table {
					row.Prefix = registryOf(row.Prefix)
					whole = append(whole, row)
				}
			}
			if len(whole) == 0 {
				continue
			}
			var b bytes.Buffer
			whole.Write(&b, target.Name)
			got, err := Read([]File{{"export", b.Bytes()}})
			same := cmp.Diff(whole, got, cmpopts.IgnoreUnexported(Row{}), cmpopts.IgnoreFields(Row{}, "At"))
			if err != nil || same != "" {
				t.Fatalf("%s: %v\n%s\n%s", target.Name, err, same, b.String())
			}
		}
	}
}

// Images are compared as they are written in Pods and workloads.
func TestChange(t *testing.T) {
	table := Table{
		{Prefix: "docker.io", Mirrors: []Mirror{{Place: "m.example/hub"}}},
		{Prefix: "quay.io", Mirrors: []Mirror{{Place: "m.example/quay", Only: Digests}}, Fallback: true},
	}
	x, err := Import(table, true)
	if err != nil {
		t.Fatal(err)
	}
	const manifests = `
{apiVersion: v1, kind: List, items: [
  {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: nginx}, {name: b, image: quay.io/x:1}]}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: a}},
  {apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {
    initContainers: [{name: a, image: nginx}, {name: b, image: "quay.io/y:1"}, {name: c, image: "UPPER/x"}]}}}}}}]}
`
	images, err := Images(offline.Read([]string{offline.Stdin}, strings.NewReader(manifests)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"quay.io/x:1", "quay.io/x:1", "m.example/quay/x:1"}, {"quay.io/y:1", "quay.io/y:1", "m.example/quay/y:1"},
	}
	report := x.Report(images)
	if diff := cmp.Diff(want, report.Changes); diff != "" || report.Checked != 4 || report.IsExact() {
		t.Error(images, diff)
	}
}

// Text of a file stays in its comment.
func TestComment(t *testing.T) {
	file := File{"a.yaml", []byte("rules: [{name: \"x\\n- name: evil\\e\", matches: [^docker.io/], replace: m.example}]")}
	table, err := Read([]File{file})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Import(table, false)
	const want = "# a.yaml:1: x\\n- name: evil\\x1b: exact\n- name: docker.io\n"
	if err != nil || !strings.Contains(x.Policy(), want) {
		t.Error(err, x.Policy())
	}
}
