package mirrors

import (
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// harbor reads the rules of harbor-container-webhook, in its configuration or in the values of its chart (ProxyRule in
// internal/config/config.go, doRewriteImage in internal/webhook/transformer.go, rewriteImage in mutate.go, and
// docker.go of indeedeng/harbor-container-webhook):
//
//   - The first rule applies that matches an image and does not exclude it.
//   - The regular expressions are not anchored, and match the normalized image, such as docker.io/library/nginx:latest.
//   - replace replaces the registry of the image, and keeps the path.
//   - With checkUpstream, an image that the mirror does not have is not rewritten.
//
// The other fields are settings of the webhook and of its chart.
func (f File) harbor(n *yaml.Node) (rows []Row, err error) {
	for _, list := range []string{"rules", "extraRules"} {
		for _, item := range contentOf(field(n, list)) {
			row, err := f.rule(item)
			if err != nil {
				return nil, err
			}
			if field(n, "webhook") != nil {
				row.note("the policy applies to all Pods: if the webhook has selectors, add match or exclude")
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// rule reads a rule.
func (f File) rule(n *yaml.Node) (Row, error) {
	var rule struct {
		Name           string   `yaml:"name"`
		Matches        []string `yaml:"matches"`
		Excludes       []string `yaml:"excludes"`
		Replace        string   `yaml:"replace"`
		CheckUpstream  bool     `yaml:"checkUpstream"`
		Platforms      []string `yaml:"platforms"`
		AuthSecretName string   `yaml:"authSecretName"`
		ReplaceSecrets bool     `yaml:"replaceImagePullSecrets"`
	}
	if err := f.decode(n, &rule); err != nil {
		return Row{}, err
	}
	row := Row{
		At: Origin{f.Name, n.Line}, Prefix: rule.Name, Mirrors: []Mirror{{Place: rule.Replace}}, Fallback: rule.CheckUpstream,
	}
	for patterns, to := range map[*[]string]*[]*regexp.Regexp{
		&rule.Matches: &row.Matches, &rule.Excludes: &row.Excludes,
	} {
		for _, pattern := range *patterns {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return Row{}, errorAt(f.Name, n.Line, "%v", err)
			}
			*to = append(*to, re)
		}
	}
	if len(row.Matches) == 0 || rule.Replace == "" {
		return Row{}, errorAt(f.Name, n.Line, "rule %s has no matches or no replace: add it", text.Quote(rule.Name))
	}
	if rule.ReplaceSecrets {
		row.pullSecret = rule.AuthSecretName
		row.note("the webhook replaces the pull secrets of a Pod, and the policy adds one")
	}
	return row, nil
}
