package offline

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/input"
)

// SkippedError reports that a file in a directory, or a document in it, was skipped because it does not contain a
// whole object. Most repositories contain more than manifests. A file that is given by its path is always read.
type SkippedError struct {
	File string
	Why  string
}

func (e *SkippedError) Error() string { return e.File + ": skipped: " + e.Why }

// The reasons to skip a file.
const (
	whyIgnored  = "ignored"
	whyHidden   = "hidden"
	whyForeign  = "not manifests: they do not have a Kubernetes apiVersion or a kind"
	whyChart    = "parts of Helm charts"
	whySuite    = "test suites: evergate test runs them"
	whyTemplate = "templates: render them first, for example with helm template"
	whyPatch    = "patches and data of kustomizations: review the output of kubectl kustomize"
)

// isManifest reports whether a file in a directory has an extension that is read. A file that is given by its path may
// have any extension.
func isManifest(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// repository classifies the files of a directory by their names and by the kustomizations next to them.
type repository struct {
	root   *os.Root
	charts map[string]bool // directories with a Chart.yaml
	parts  map[string]bool // files that kustomizations refer to and that are not resources

	templates bool // the root is the templates directory of a chart
}

func newRepository(root *os.Root) *repository {
	r := &repository{root: root, charts: map[string]bool{}, parts: map[string]bool{}}
	if filepath.Base(root.Name()) == "templates" {
		_, err := os.Stat(filepath.Join(root.Name(), "..", "Chart.yaml"))
		r.templates = err == nil
	}
	return r
}

// add records a file if it describes other files. The name is relative to the root.
func (r *repository) add(name string) {
	switch path.Base(name) {
	case "Chart.yaml":
		r.charts[path.Dir(name)] = true
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		r.addKustomization(name)
	}
}

// kustomization has the fields of a kustomization that refer to files without whole objects.
type kustomization struct {
	Patches               []struct{ Path string }
	PatchesJSON6902       []struct{ Path string } `json:"patchesJson6902"`
	PatchesStrategicMerge []string
	Replacements          []struct{ Path string }
	Configurations        []string
	ConfigMapGenerator    []struct{ Files, Envs []string }
	SecretGenerator       []struct{ Files, Envs []string }
	HelmCharts            []struct {
		ValuesFile            string
		AdditionalValuesFiles []string
	}
}

// maxKustomization limits a kustomization that is read, in bytes. It is far more than people write.
const maxKustomization = 1 << 20

// addKustomization records the files that a kustomization refers to. A kustomization that cannot be read is ignored
// here, because kustomize reports the problem.
func (r *repository) addKustomization(name string) {
	data, err := input.ReadIn(r.root, name, maxKustomization)
	if err != nil {
		return
	}
	var k kustomization
	if yaml.Unmarshal(data, &k) != nil {
		return
	}
	files := append(k.PatchesStrategicMerge, k.Configurations...)
	for _, p := range append(append(k.Patches, k.PatchesJSON6902...), k.Replacements...) {
		files = append(files, p.Path)
	}
	for _, g := range append(k.ConfigMapGenerator, k.SecretGenerator...) {
		for _, f := range g.Files { // KEY=FILE or FILE
			files = append(files, f[strings.IndexByte(f, '=')+1:])
		}
		files = append(files, g.Envs...)
	}
	for _, c := range k.HelmCharts {
		files = append(append(files, c.ValuesFile), c.AdditionalValuesFiles...)
	}
	for _, f := range files {
		if f != "" {
			r.parts[path.Join(path.Dir(name), f)] = true
		}
	}
}

// why returns the reason to skip a file, or an empty string if it is read.
func (r *repository) why(name string) string {
	switch {
	case r.templates:
		return whyTemplate
	case r.parts[name]:
		return whyPatch
	}
	for chart := path.Dir(name); ; chart = path.Dir(chart) {
		if r.charts[chart] {
			relative := strings.TrimPrefix(name, chart+"/")
			switch first, _, deeper := strings.Cut(relative, "/"); {
			case deeper && first == "templates":
				return whyTemplate
			case !deeper && (first == "Chart.yaml" || isValues(first)), first == "ci" && isValues(path.Base(name)):
				return whyChart
			}
			return ""
		}
		if chart == "." || chart == "/" {
			return ""
		}
	}
}

// isValues reports whether a file has a name that is common for Helm values: values.yaml, values-prod.yaml,
// prod-values.yaml, prod.values.yaml.
func isValues(name string) bool {
	base := strings.ToLower(path.Base(filepath.ToSlash(name)))
	stem := strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
	return strings.HasPrefix(stem, "values") || strings.HasSuffix(stem, "values")
}

// isSuite reports whether a file has the name of a test suite of evergate test. Suites are often next to policies.
func isSuite(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "_test.yaml") || strings.HasSuffix(name, "_test.yml")
}

// foreign collects the errors about the text of a file in a directory. If an object in the file has an apiVersion or
// a kind, the file is meant as a manifest and the errors are reported. Otherwise the file is skipped.
type foreign struct {
	errs  []error
	suite bool
}

// take stores an error about the text of a file. It reports whether err is such an error.
func (f *foreign) take(err error) bool {
	in, ok := asInputError(err)
	if !ok || !in.foreign {
		return false
	}
	f.errs, f.suite = append(f.errs, err), f.suite || in.suite
	return true
}

// why returns the reason to skip the file.
func (f *foreign) why(name string) string {
	switch {
	case isValues(name):
		return whyChart
	case f.suite && isSuite(name):
		return whySuite
	}
	return whyForeign
}

// The expressions match the fields in the places in which people and programs write them.
var (
	yamlClaim = regexp.MustCompile(`(?m)^(?:---[ \t]+)?(?:\{[ \t]*)?["']?(?:apiVersion|kind)["']?[ \t]*:`)
	// indentedClaim matches a first field that is indented, as in a file whose lines are all indented, or in a list.
	indentedClaim = regexp.MustCompile(
		`\A(?:\s*#.*\n|\s*\n|---\s*\n)*[ \t]*(?:-[ \t]+|[ \t])["']?(?:apiVersion|kind)["']?[ \t]*:`)
	jsonClaim = regexp.MustCompile(`\A\s*(?:\[\s*)?\{\s*"(?:apiVersion|kind)"\s*:`)
	// memberLine matches a line that begins with a member of a JSON object.
	memberLine = regexp.MustCompile(`(?m)^([ \t]*)"((?:[^"\\]|\\.)*)"\s*:`)
)

// claimsKind reports whether a text that cannot be decoded has the apiVersion or the kind of a Kubernetes object, or is
// a list of such objects. In JSON, the fields are members of the outer object if they are indented like its first
// member.
func claimsKind(text []byte) bool {
	if yamlClaim.Match(text) || indentedClaim.Match(text) || jsonClaim.Match(text) {
		return true
	}
	if begin := bytes.TrimSpace(text); len(begin) == 0 || begin[0] != '{' && begin[0] != '[' {
		return false
	}
	members := memberLine.FindAllSubmatch(text, -1)
	return slices.ContainsFunc(members, func(m [][]byte) bool {
		name := string(m[2])
		return bytes.Equal(m[1], members[0][1]) && (name == "apiVersion" || name == "kind")
	})
}

var (
	// helmAction matches actions that only Helm templates contain.
	helmAction = regexp.MustCompile(`\{\{[^}]*(?:\.(?:Values|Release|Chart|Capabilities|Files)\b|\b(?:include|tpl) )`)
	// bareAction matches an action at the beginning of a line or value, which changes the meaning of the YAML. It
	// does not match quoted actions and actions with Prometheus variables, because these are values in the files of
	// Alertmanager and Prometheus.
	bareAction = regexp.MustCompile(`(?m)^[ \t-]*(?:[\w./-]+:[ \t]+)?\{\{-?[ \t]*(?:[^$ \t]|\$[^lve])`)
)

// isTemplate reports whether a text that is not YAML is a template of manifests.
func isTemplate(data []byte) bool {
	return helmAction.Match(data) || claimsKind(data) && bareAction.Match(data)
}
