package policy

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/internal/schema"
)

const denialsPage = "../docs/denials.md"

var update = flag.Bool("update", false, "write docs/denials.md again")

// TestDenialsPage checks docs/denials.md, the page that users find when they search for a denial. It has a section for
// each check, with the sentences of the manifests in testdata, and a section for each kind of mistake in policies.
func TestDenialsPage(t *testing.T) {
	want := denials(t)
	if *update {
		if err := os.WriteFile(denialsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if string(readFile(t, denialsPage)) != want {
		t.Errorf("%s is out of date: run go test ./policy -run DenialsPage -update", denialsPage)
	}
}

const denialsIntro = `# Denials and warnings

<!-- go test ./policy -run DenialsPage -update writes this page -->

This page shows the sentences of denials and warnings, by the field of the rule that an object breaks. A sentence begins
with ` + "`RULE/FIELD`. `RULE` is the name of the rule in your policy, and `FIELD`" + ` is a heading on this page. A
sentence ends with the values that pass, or with the change that you can make.

The sentences come from tests, so their rules, hosts and images are examples. [Findings and
updates](policy/findings.md) explains when a finding denies a request and when it only warns. If a policy denies more
than you expect, read [A good policy denies everything](runbooks/policy-denies-everything.md). If the message contains
` + "`failed calling webhook`" + `, look it up in [Error messages](runbooks/README.md#error-messages).

`

func denials(t *testing.T) string {
	document := new(schema.Schema)
	if err := json.Unmarshal(readFile(t, "../docs/policy.schema.json"), document); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(denialsIntro)
	checks := sentencesByCheck(t)
	for _, check := range slices.Sorted(maps.Keys(checks)) {
		fmt.Fprintf(&b, "## %s\n\n", check)
		if check != strings.ToLower(strings.ReplaceAll(check, ".", "")) { // the anchor of the heading
			fmt.Fprintf(&b, "<a id=\"%s\"></a>\n\n", check)
		}
		described := map[string][]string{}
		for block := range checks[check] {
			text := describeCheck(document, block, check)
			described[text] = append(described[text], block)
		}
		byBlock := func(x, y string) int { return cmp.Compare(slices.Min(described[x]), slices.Min(described[y])) }
		for _, text := range slices.SortedFunc(maps.Keys(described), byBlock) {
			fmt.Fprintf(&b, "- %s: %s\n", blockLinks(described[text]), text)
		}
		b.WriteString("\n")
		var all []string
		for _, block := range slices.Sorted(maps.Keys(checks[check])) {
			all = append(all, checks[check][block]...)
		}
		writeSentences(&b, all)
	}
	b.WriteString("## Mistakes in a policy\n\n" +
		"`kubectl apply` of the policy's ConfigMap, `evergate policy check` and the log of\n`evergate serve` show these sentences. They begin with the file, the line, the column and the field.\n\n")
	for _, file := range append(testdata(t, "load/*.bad.yaml"), testdata(t, "mirrors/invalid/*.yaml")...) {
		title := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".yaml"), ".bad")
		fmt.Fprintf(&b, "### Mistake: %s\n\n", strings.ReplaceAll(title, "-", " "))
		writeSentences(&b, marked(readFile(t, file), wantMark))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// blocksOfDirectories returns the blocks whose rules evaluate the manifests in a directory, if the directory does not
// have the name of its block.
var blocksOfDirectories = map[string]string{
	"openshiftRoutes": "routes", "workloads": "pods", "httproute": "routes", "grpcroute": "routes", "tlsroute": "routes",
	"tcproute": "routes", "udproute": "routes", "route": "routes", "ingress": "ingresses", "service": "services",
	"gateway": "gateways", "listenerset": "gateways", "xlistenerset": "gateways", "referencegrant": "grants",
	"certificate": "certificates", "dnsendpoint": "dnsEndpoints",
}

var sentenceOfFinding = regexp.MustCompile(`^(?:(?:enforce|warn|audit) )?([\w-]+/([\w.]+): .*)$`)

// sentencesByCheck returns the sentences of manifests by check and block.
func sentencesByCheck(t *testing.T) map[string]map[string][]string {
	found := map[string]map[string][]string{}
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		directories := strings.Split(filepath.ToSlash(path), "/")
		block := directories[1]
		if block == "bypasses" {
			block = directories[2]
		}
		block = cmp.Or(blocksOfDirectories[block], block)
		for _, line := range marked(readFile(t, path), wantMark) {
			match := sentenceOfFinding.FindStringSubmatch(line)
			if match == nil {
				continue
			}
			check := match[2]
			of := block
			if check == "owners" {
				of = "owners"
			}
			if found[check] == nil {
				found[check] = map[string][]string{}
			}
			found[check][of] = append(found[check][of], match[1])
		}
		return nil
	})
	if err != nil || len(found) < 50 {
		t.Fatalf("%d checks: %v", len(found), err)
	}
	return found
}

var (
	quoted        = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	position      = regexp.MustCompile(`\[\d+\]|:\d+:\d+:`)
	passingValues = regexp.MustCompile(`(allowed: |allowed are |belongs to the namespaces ).*`)
)

// writeSentences writes sentences of different shapes: without quoted values, positions and the values that pass.
func writeSentences(b *strings.Builder, all []string) {
	seen := map[string]bool{}
	b.WriteString("```text\n")
	for _, s := range all {
		shape := passingValues.ReplaceAllString(position.ReplaceAllString(quoted.ReplaceAllString(s, `""`), "[]"), "$1")
		if !seen[shape] {
			seen[shape] = true
			b.WriteString(s + "\n")
		}
	}
	b.WriteString("```\n\n")
}

// describeCheck returns the description of a field from the schema, or of its block, as Markdown.
func describeCheck(document *schema.Schema, block, check string) string {
	field := document.Fields[block]
	text := field.Description
	for name := range strings.SplitSeq(check, ".") {
		if field = field.Inner().Fields[name]; field == nil {
			break
		}
		text = field.Description
	}
	text, _, _ = strings.Cut(text, " Default: ")
	text, _, _ = strings.Cut(text, " Absent: ")
	return regexp.MustCompile("[][*_<>`\\\\{}]").ReplaceAllString(text, `\$0`)
}

// blockLinks returns links to the pages of blocks.
func blockLinks(blocks []string) string {
	var links []string
	for _, block := range slices.Sorted(slices.Values(blocks)) {
		page := strings.ToLower(strings.ReplaceAll(block, "dnsE", "dns-e"))
		links = append(links, fmt.Sprintf("[`%s`](policy/%s.md)", block, page))
	}
	return strings.Join(links, ", ")
}
