package mirrors

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// document is a YAML document in any of the formats.
type document struct {
	Kind  string     `yaml:"kind"`
	Items []document `yaml:"items"`
	Spec  struct {
		Digests []mirrorSet    `yaml:"imageDigestMirrors"`
		Tags    []mirrorSet    `yaml:"imageTagMirrors"`
		Content []mirrorSet    `yaml:"repositoryDigestMirrors"`
		Other   map[string]any `yaml:",inline"`
	} `yaml:"spec"`
	Mirrors map[string]k3sMirror `yaml:"mirrors"`
	Rules   []harborRule         `yaml:"rules"`
	Extra   []harborRule         `yaml:"extraRules"` // of the chart, after rules
	Other   map[string]any       `yaml:",inline"`
}

// yaml reads the rows of a file with YAML documents.
func (f *File) yaml() (rows []Row) {
	d := yaml.NewDecoder(bytes.NewReader(f.Data))
	d.KnownFields(true)
	for f.err == nil {
		var doc document
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			f.wrong(err)
		}
		rows = append(rows, f.document(&doc)...)
	}
	return rows
}

// document reads the rows of a document. Only harbor-container-webhook has other fields, which are its settings.
func (f *File) document(d *document) []Row {
	kinds := regexp.MustCompile(`^(List|Image(DigestMirrorSet|TagMirrorSet|ContentSourcePolicy)(List)?)?$`)
	if !kinds.MatchString(d.Kind) {
		f.fail(d.Kind, "kind %s has no mirrors: use ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy",
			text.Name(d.Kind))
	}
	d.Rules = append(d.Rules, d.Extra...)
	rows := slices.Concat(f.openShift(d), f.k3s(d.Mirrors), f.harbor(d.Rules))
	for _, known := range []string{"apiVersion", "metadata", "status", "configs", "auths"} {
		delete(d.Other, known)
	}
	others := slices.Concat(slices.Sorted(maps.Keys(d.Other)), slices.Sorted(maps.Keys(d.Spec.Other)))
	switch {
	case len(others) == 0 || len(d.Rules) > 0:
	case len(rows) == 0 && d.Kind == "":
		f.fail("", "not a table of mirrors: use objects of OpenShift, registries.conf, hosts.toml, registries.yaml or the "+
			"rules of harbor-container-webhook")
	default:
		f.fail(others[0], "unknown field %s: remove it", text.Name(others[0]))
	}
	return rows
}

type mirrorSet struct {
	Source  string   `yaml:"source"`
	Mirrors []string `yaml:"mirrors"`
	Policy  string   `yaml:"mirrorSourcePolicy"`
}

// openShift reads the mirrors of an ImageDigestMirrorSet, an ImageTagMirrorSet or an ImageContentSourcePolicy, or of a
// list. Mirrors are for images with a digest or for other images. A set whose mirrors only repeat its source has no
// effect. Only NeverContactSource blocks the source (pkg/registries/registries.go of openshift/runtime-utils).
func (f *File) openShift(d *document) (rows []Row) {
	for i := range d.Items {
		rows = append(rows, f.document(&d.Items[i])...)
	}
	for i, sets := range [][]mirrorSet{d.Spec.Tags, d.Spec.Digests, d.Spec.Content} {
		for _, set := range sets {
			r := Row{At: f.at("source: "+set.Source, set.Source), Prefix: set.Source}
			r.Fallback = set.Policy != "NeverContactSource"
			for _, place := range set.Mirrors {
				r.Mirrors = append(r.Mirrors, Mirror{Place: place, Only: [...]Kind{Tags, Digests, Digests}[i]})
			}
			if slices.ContainsFunc(set.Mirrors, func(s string) bool { return s != set.Source }) || set.Source == "" {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

type k3sMirror struct {
	Endpoints []string          `yaml:"endpoint"`
	Rewrites  map[string]string `yaml:"rewrite"`
}

// k3s reads the mirrors in registries.yaml of k3s and RKE2. They write a hosts.toml for each registry. A path of an
// endpoint other than /v2 is used with override_path. configs also applies to images of the endpoints themselves. The
// registry is the last endpoint, unless nodes have the option --disable-default-registry-endpoint (getHostConfigs and
// normalizeEndpointAddress in pkg/agent/containerd/config.go of k3s-io/k3s).
func (f *File) k3s(mirrors map[string]k3sMirror) (rows []Row) {
	for _, host := range slices.Sorted(maps.Keys(mirrors)) {
		row := Row{At: f.at(host+":", host), Prefix: host, Fallback: true, perHost: true}
		for _, url := range mirrors[host].Endpoints {
			override := func(path string) bool { return strings.Trim(path, "/") != "" && path != "/v2" }
			row.Mirrors = append(row.Mirrors, f.endpoint(url, override))
		}
		rows = append(rows, row.rewrite(mirrors[host].Rewrites)...)
	}
	return rows
}

// rewrite returns rows for rewrites of the forms ^p/(.*) → q/$1 and (.*) → q/$1, and a row for other paths. With other
// rewrites, it returns a row that cannot be imported. If several rewrites change a path, any of them may apply
// (pkg/registries/registries.go of github.com/rancher/wharfie v0.7.1). They do not apply to the fallback.
func (r Row) rewrite(rewrites map[string]string) (rows []Row) {
	form := regexp.MustCompile(`^(?:\^?|\^((?:[\w/-]|\\?\.)+)/)\(\.\*\)\$?$`)
	cannot := func(why string) []Row {
		r.Reason, r.Mirrors = why+": write one rewrite ^p/(.*) with q/$1 for each path", nil
		return []Row{r}
	}
	known := map[string]bool{}
	for _, pattern := range slices.Sorted(maps.Keys(rewrites)) {
		parts := form.FindStringSubmatch(pattern)
		to, ok := strings.CutSuffix(rewrites[pattern], "$1")
		if parts == nil || !ok || strings.Contains(to, "$") || to != "" && !strings.HasSuffix(to, "/") {
			return cannot("the rewrite " + text.Printable(pattern, text.Short) + " is not literal")
		}
		row := r
		row.Prefix, row.Mirrors = join(r.Prefix, strings.ReplaceAll(parts[1], `\.`, ".")), nil
		for _, m := range r.Mirrors {
			m.Place = join(m.Place, to)
			row.Mirrors = append(row.Mirrors, m)
		}
		known[row.Prefix] = true
		rows = append(rows, row)
	}
	for _, row := range rows {
		for _, at := range covering(row.Prefix) {
			if at != row.Prefix && known[at] {
				return cannot("several rewrites match the same images, and any of them may apply")
			}
		}
	}
	if !known[r.Prefix] {
		rows = append(rows, r)
	}
	return rows
}

// join returns the place at a path.
func join(at, path string) string { return strings.TrimSuffix(at+"/"+strings.Trim(path, "/"), "/") }

type harborRule struct {
	Name           string   `yaml:"name"`
	Matches        []string `yaml:"matches"`
	Excludes       []string `yaml:"excludes"`
	Replace        string   `yaml:"replace"`
	CheckUpstream  bool     `yaml:"checkUpstream"`
	Platforms      []string `yaml:"platforms"`
	AuthSecretName string   `yaml:"authSecretName"`
	ReplaceSecrets bool     `yaml:"replaceImagePullSecrets"`
}

// harbor reads the rules of harbor-container-webhook, in its configuration or in its chart's values. The first rule
// applies that matches an image and does not exclude it. The regular expressions are not anchored, and match the
// normalized image, such as docker.io/library/nginx:latest. replace replaces its registry. With checkUpstream, an image
// that the mirror does not have is not rewritten (doRewriteImage in internal/webhook/transformer.go, rewriteImage in
// mutate.go of indeedeng/harbor-container-webhook). Each regular expression of matches is a row.
func (f *File) harbor(rules []harborRule) (rows []Row) {
	for _, rule := range rules {
		row := Row{Fallback: rule.CheckUpstream}
		if len(rule.Matches) == 0 || rule.Replace == "" {
			f.fail(rule.Name, "rule %s has no matches or no replace: add it", text.Quote(rule.Name))
		}
		if rule.ReplaceSecrets {
			row.secret = rule.AuthSecretName
		}
		var patterns []*regexp.Regexp // of the excluded images
		for _, pattern := range slices.Concat(rule.Excludes, rule.Matches) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				f.fail(pattern, "%s", text.Printable(err.Error(), 2*text.Short))
				continue
			}
			prefix := row.prefixOf(pattern)
			if len(patterns) < len(rule.Excludes) {
				patterns, row.excluded = append(patterns, re), append(row.excluded, prefix)
				continue
			}
			row := row
			row.At = f.at(pattern)
			_, path, _ := strings.Cut(prefix, "/")
			row.Prefix, row.Mirrors = prefix, []Mirror{{Place: join(rule.Replace, path), Only: All}}
			row.rule = func(image string) (string, bool) {
				excluded := slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(image) })
				return join(rule.Replace, image[len(registryOf(image)):]), re.MatchString(image) && !excluded
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// prefixOf returns the text with which the images begin that a regular expression matches, such as docker.io for
// ^docker\.io/.*. If there is no such text, the row cannot be imported. An image of docker.io always has two segments,
// so an optional library/ is always present.
func (r *Row) prefixOf(pattern string) string {
	form := regexp.MustCompile(`^\^?((?:[\w/-]|\\?\.)+?)(?:/|:|\[:@\]|\[/:@\])?(?:\(?\.[*+]\)?)?\$?$`)
	parts := form.FindStringSubmatch(strings.Replace(pattern, "(library/)?", "library/", 1))
	if parts == nil {
		pattern = text.Printable(pattern, text.Short)
		r.Reason = pattern + " is not literal: match or exclude a registry or a path, such as ^docker.io/"
		return pattern
	}
	return strings.ReplaceAll(parts[1], `\.`, ".")
}
