package policy

import (
	"cmp"
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
)

const denialsPage = "../docs/denials.md"

var update = flag.Bool("update", false, "write docs/denials.md again")

// TestDenialsPage checks docs/denials.md, the page that users find when they search for a denial. It has a section for
// each check, with the sentences of the manifests in testdata, and one for mistakes in policies.
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

Find your message here by its check. A message begins with ` + "`RULE/CHECK`. `RULE` is in your policy, and `CHECK`" + `
is a heading on this page, with links to the reference. It ends with the values that pass, or with the change that you
can make. Hosts, images and values are examples.

[Findings and updates](policy/findings.md) explains when a finding denies a request and when it only warns. If a policy
denies more than you expect, read [A good policy denies everything](runbooks/policy-denies-everything.md). If the
message contains ` + "`failed calling webhook`" + `, read [Error messages](runbooks/README.md#error-messages).

`

func denials(t *testing.T) string {
	var b strings.Builder
	b.WriteString(denialsIntro)
	checks := sentencesByCheck(t)
	for _, check := range slices.Sorted(maps.Keys(checks)) {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", check, blockLinks(slices.Collect(maps.Keys(checks[check]))))
		var all []string
		for _, block := range slices.Sorted(maps.Keys(checks[check])) {
			all = append(all, checks[check][block]...)
		}
		writeSentences(&b, all)
	}
	b.WriteString("## Mistakes in a policy\n\n" +
		"`kubectl apply` of the policy's ConfigMap, `evergate policy check` and the log of `evergate serve` show these\n" +
		"messages, with the file, the line and the column in front.\n\n")
	var mistakes []string
	for _, file := range append(testdata(t, "load/*.bad.yaml"), testdata(t, "mirrors/invalid/*.yaml")...) {
		for _, mistake := range marked(readFile(t, file), wantMark) {
			mistakes = append(mistakes, positionInFile.ReplaceAllString(mistake, ""))
		}
	}
	writeSentences(&b, mistakes)
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
	example        = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|(?:'[^']+'(?:, )?)+|\b(?:Gateway|Service|matches|of) \S+`)
	positionInFile = regexp.MustCompile(`^[\w.-]+:\d+:\d+: `)
	place          = regexp.MustCompile(`^(?:[\w-]+/[\w.]+: )?(?:[\w.]*(?:\[(?:""|\d+)\])?)*: `)
	passing        = regexp.MustCompile(`((?:allowed|known here): |(?:allowed are|to the namespaces|by|denied) ).*`)
	number         = regexp.MustCompile(`\d+(?:[.,]\d+)*`)
)

// writeSentences writes one sentence of each shape. A shape has no rule, no field, no quoted values, no numbers and no
// values that pass.
func writeSentences(b *strings.Builder, all []string) {
	seen := map[string]bool{}
	b.WriteString("```text\n")
	for _, s := range all {
		shape := place.ReplaceAllString(example.ReplaceAllString(s, `""`), "")
		shape = number.ReplaceAllString(passing.ReplaceAllString(shape, "$1"), "0")
		if !seen[shape] {
			seen[shape] = true
			b.WriteString(s + "\n")
		}
	}
	b.WriteString("```\n\n")
}

// blockLinks returns links to the pages of blocks.
func blockLinks(blocks []string) string {
	var links []string
	for _, block := range slices.Sorted(slices.Values(blocks)) {
		page := strings.ToLower(strings.ReplaceAll(block, "dnsE", "dns-e")) + ".md"
		if block == "grants" {
			page = "routes.md#grants"
		}
		links = append(links, fmt.Sprintf("[`%s`](policy/%s)", block, page))
	}
	return strings.Join(links, ", ")
}
