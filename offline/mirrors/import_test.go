package mirrors

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
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
		files = append(files, File{Name: strings.TrimPrefix(filepath.ToSlash(name), "testdata/import/"), Data: data})
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
	x.Report(offline.Read(nil, nil)).WriteText(&p)
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
		})
	}
}

// Bad input is an error with the file and the line.
func TestRead(t *testing.T) {
	const rules = "rules:\n- {name: x, matches: [%s], replace: m.example}\n"
	for name, test := range map[string]struct {
		file, text, want string
	}{
		"another kind": {"a.yaml", "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n",
			"a.yaml:2: kind Pod has no mirrors: use ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy"},
		"a policy": {"a.yaml", header + "mirrors: {}\n", "a.yaml:2: kind EvergatePolicy has no mirrors: use " +
			"ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy"},
		"another file": {"a.yaml", "# text\nname: x\n", "a.yaml:1: not a table of mirrors: use objects of OpenShift, " +
			"registries.conf, hosts.toml, registries.yaml or the rules of harbor-container-webhook"},
		"a list": {"a.yaml", "- a\n", "a.yaml:1: cannot unmarshal !!seq"},
		"truncated YAML": {"a.yaml", "mirrors:\n  docker.io:\n    endpoint: [https://m.exa",
			"a.yaml:2: did not find expected ',' or ']'"},
		"truncated TOML": {"r.conf", "[[registry]]\nlocation = \"docker.i", "r.conf:2: unterminated basic string"},
		"empty":          {"a.yaml", "# nothing\n", "a.yaml:1: the table is empty: it has no mirrors"},
		"null": {"a.yaml", "mirrors:\n---\nnull\n---\nkind: List\nitems: [null]\n",
			"a.yaml:1: the table is empty: it has no mirrors"},
		"empty table": {"r.conf", "short-name-mode = \"enforcing\"\n", "r.conf:1: the table is empty: it has no mirrors"},
		"too long": {"a.yaml", "mirrors:\n" + strings.Repeat("  a%d.example: {endpoint: [m.example]}\n", 2001),
			"a.yaml:1: the table is too long: 2,001 rows, limit 2,000"},
		"unknown field of OpenShift": {"a.yaml", "kind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n" +
			"  - source: a.example\n    mirror: b.example\n", "a.yaml:5: unknown field mirror: remove it"},
		"another list of OpenShift": {"a.yaml", "kind: ImageTagMirrorSet\nspec:\n  imageMirrors: []\n",
			"a.yaml:3: unknown field imageMirrors: remove it"},
		"a wrong type": {"a.yaml", "kind: ImageTagMirrorSet\nspec:\n  imageTagMirrors:\n  - source: a.example\n" +
			"    mirrors: b.example\n", "a.yaml:5: cannot unmarshal !!str `b.example`"},
		"unknown field of registries.conf": {"r.conf", "[[registry]]\nlocation = \"a.example\"\nblock = true\n",
			"r.conf:3: unknown field block: remove it"},
		"unknown pull-from-mirror": {"r.conf", "[[registry]]\nlocation = \"a.example\"\nmirror = [{location = \"m.example\", " +
			"pull-from-mirror = \"never\"}]\n",
			"r.conf:3: unknown pull-from-mirror never: use all, digest-only or tag-only"},
		"unknown field of hosts.toml": {"docker.io/hosts.toml", "server = \"https://docker.io\"\n[host.\"https://m.example\"]\n" +
			"capability = []\n", "docker.io/hosts.toml:3: unknown field capability: remove it"},
		"no order": {"docker.io/hosts.toml", "[host]\n\"https://m.example\" = {}\n", "docker.io/hosts.toml:1: the order of " +
			"the hosts is not known: write each host as [host.\"URL\"]"},
		"no folder": {"hosts.toml", "server = \"https://m.example\"\n", "hosts.toml:1: the folder of hosts.toml is the name of " +
			"its registry: use a path such as certs.d/docker.io/hosts.toml"},
		"no URL": {"docker.io/hosts.toml", "\nserver = \"https://\"\n", "docker.io/hosts.toml:2: \"https://\" is not the URL of " +
			"a mirror: use a URL such as https://mirror.example"},
		"unknown field of registries.yaml": {"a.yaml", "mirrors:\n  docker.io:\n    endpoints: []\n",
			"a.yaml:3: unknown field endpoints: remove it"},
		"another field of registries.yaml": {"a.yaml", "mirrors:\n  docker.io: {}\nconfig: {}\n",
			"a.yaml:3: unknown field config: remove it"},
		"unknown field of a rule": {"a.yaml", "rules:\n- name: x\n  match: [x]\n", "a.yaml:3: unknown field match: remove it"},
		"no replace": {"a.yaml", "rules:\n- {name: x, matches: [x]}\n",
			"a.yaml:2: rule \"x\" has no matches or no replace: add it"},
		"a wrong expression": {"a.yaml", fmt.Sprintf(rules, "(x"), "a.yaml:2: error parsing regexp: missing closing ): `(x`"},
		"a control character": {"a\x1b.yaml", "\"k\\eind\": x\n", "\"a\\x1b.yaml\":1: not a table of mirrors: use objects of " +
			"OpenShift, registries.conf, hosts.toml, registries.yaml or the rules of harbor-container-webhook"},
		"different mirrors": {"a.yaml", "mirrors:\n  docker.io: {endpoint: [m.example]}\n---\nkind: ImageDigestMirrorSet\n" +
			"spec: {imageDigestMirrors: [{source: docker.io, mirrors: [n.example], mirrorSourcePolicy: NeverContactSource}]}\n",
			"docker.io has different mirrors: m.example in a.yaml:2, and n.example in a.yaml:5: remove one"},
	} {
		if name == "too long" {
			for i := range 2001 {
				test.text = strings.Replace(test.text, "%d", strconv.Itoa(i), 1)
			}
		}
		if _, err := Read([]File{{Name: test.file, Data: []byte(test.text)}}); err == nil || err.Error() != test.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, test.want)
		}
	}
}

// Parts of a file, and files with other values, are tables or errors with at most a line. Texts stay in their line.
func TestReadRandomly(t *testing.T) {
	names, _ := filepath.Glob("testdata/import/*.[cy]*")
	r := rand.New(rand.NewPCG(3, 4))
	values := []string{"null", "[]", "{}", "&a x", "*a", "\"\\u001b##\\n- x\"", "1", "[[a]]", ":", "https://%", "(", "\x00", "~"}
	for range 600 {
		name := names[r.IntN(len(names))]
		data, err := os.ReadFile(name)
		if err != nil {
			continue // a directory
		}
		words := regexp.MustCompile(`[^\s:=]+`).FindAllIndex(data, -1)
		at := words[r.IntN(len(words))]
		text := string(data[:at[0]]) + values[r.IntN(len(values))] + string(data[at[1]:])
		table, err := Read([]File{{Name: name, Data: []byte(text[:len(text)-r.IntN(2)*r.IntN(len(text))])}})
		if err != nil {
			if strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 600 {
				t.Errorf("%q", err)
			}
			continue
		}
		x, err := Import(table, true)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		p := output.Printer{}
		x.Report(offline.Read(nil, nil)).WriteText(&p)
		if strings.ContainsAny(p.String()+x.Policy(), "\x1b\x00") || strings.Count(p.String(), "\n") != len(table)+1 {
			t.Errorf("%q", p.String())
		}
	}
}

// TestSeveralTables reads two tables for the same images. want is an error, or a part of the report.
func TestSeveralTables(t *testing.T) {
	set := func(kind, mirrors string) string {
		return "kind: Image" + kind + "MirrorSet\nspec: {image" + kind + "Mirrors: [{source: quay.io/a, mirrors: [" + mirrors + "]}]}\n"
	}
	conf := func(mirrors string) string { return "[[registry]]\nlocation = \"quay.io/a\"\n" + mirrors }
	m, n := "[[registry.mirror]]\nlocation = 'm.example'\n", "[[registry.mirror]]\nlocation = 'n.example'\n"
	for name, test := range map[string]struct{ first, second, want string }{
		"the same order":  {set("Tag", "m.example/a, n.example/a"), set("Digest", "m.example/a, n.example/a"), "quay.io/a: exact"},
		"another order":   {set("Tag", "m.example/a, n.example/a"), set("Digest", "n.example/a, m.example/a"), "quay.io/a: differs"},
		"without mirrors": {conf(m), conf(""), "quay.io/a has different mirrors: m.example in 1:2, and none in 2:2: remove one"},
		"other mirrors":   {conf(m + n), conf(m), "quay.io/a has different mirrors: n.example in 1:2, and none in 2:2: remove one"},
		"every registry":  {"mirrors: {quay.io: {endpoint: [m.example]}}", "mirrors: {'*': {endpoint: [m.example]}}", "quay.io: cannot"},
		"another port":    {conf(m), "[[registry]]\nlocation = 'reg.example:443'\n" + m, "reg.example:443: differs"},
	} {
		table, err := Read([]File{{Name: "1", Data: []byte(test.first)}, {Name: "2", Data: []byte(test.second)}})
		got := fmt.Sprint(err)
		if err == nil {
			x, err := Import(table, false)
			if err != nil {
				t.Fatal(err)
			}
			p := output.Printer{}
			x.Report(offline.Read(nil, nil)).WriteText(&p)
			got = p.String()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The import of an export gives the same table, and the policy of the table has the same mirrors.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range 200 {
		text := "mirrors:\n"
		for i, registry := range []string{"docker.io", "quay.io", "reg.example:5000", "gcr.io"} {
			text += fmt.Sprintf("- {name: e%d, mode: enforce, sources: ['%s%s'], mirror: 'm%[1]d.example%[4]s'}\n", i, registry,
				pick("", "", "/acme", "/a/b_c"), pick("", "/hub", "/a/b_c/x.y"))
		}
		for _, target := range Targets() {
			table, _ := FromPolicy(describe(t, text), Options{Target: target.Name, NoFallback: r.IntN(2) == 0})
			var b bytes.Buffer
			table.Write(&b, target.Name)
			files := []File{{Name: "export", Data: b.Bytes()}}
			if target.Name == HostsTOML { // a comment has the name of each file
				files = nil
				for _, part := range strings.Split(b.String(), "# ")[1:] {
					name, text, _ := strings.Cut(part, "\n")
					files = append(files, File{Name: name, Data: []byte(text)})
				}
			}
			if len(table) == 0 {
				continue
			}
			got, err := Read(files)
			if diff := tables(table, got); err != nil || diff != "" {
				t.Fatalf("%s: %v\n%s\n%s", target.Name, err, diff, b.String())
			}
			x, err := Import(got, false)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := FromPolicy(describe(t, strings.TrimPrefix(x.Policy(), header)), Options{Target: target.Name})
			for i := range again {
				again[i].Fallback = table[0].Fallback
			}
			if diff := tables(table, again); diff != "" {
				t.Fatalf("%s: %s\n%s", target.Name, diff, x.Policy())
			}
		}
	}
}

// tables compares the sources and mirrors of two tables.
func tables(want, got Table) string {
	byPrefix := cmpopts.SortSlices(func(a, b Row) bool { return a.Prefix < b.Prefix })
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(Row{}), cmpopts.IgnoreFields(Row{}, "At", "Verdict"), byPrefix)
}

// Images are compared as they are written in Pods and templates.
func TestImages(t *testing.T) {
	table := Table{
		{Prefix: "docker.io", Mirrors: []Mirror{{Place: "m.example/hub", Only: All}}},
		{Prefix: "quay.io", Mirrors: []Mirror{{Place: "m.example/quay", Only: Digests}}, Fallback: true},
	}
	x, err := Import(table, true)
	if err != nil {
		t.Fatal(err)
	}
	const pods = `{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"image": "nginx"}],
    "ephemeralContainers": [{"image": "quay.io/x:1"}]}, "status": {"containerStatuses": [{"image": "quay.io/z:1"}]}},
  {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "b"}, "spec": {"template": {"spec": {
    "initContainers": [{"image": "nginx"}, {"image": "UPPER/x"}], "volumes": [{"image": {"reference": "quay.io/y:1"}}]}}}}]}`
	want := []Change{
		{"quay.io/x:1", "quay.io/x:1", "m.example/quay/x:1"}, {"quay.io/y:1", "quay.io/y:1", "m.example/quay/y:1"},
	}
	report := x.Report(offline.Read([]string{"-"}, strings.NewReader(pods)))
	if diff := cmp.Diff(want, report.Changes); diff != "" || report.Checked != 4 || report.IsExact() {
		t.Error(report, diff)
	}
}
