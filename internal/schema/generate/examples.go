package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// yamlBlock matches a block of YAML in a page.
var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// exampleTrees returns the YAML documents in the pages of docs/policy, and then the documents in examples/policies.
func exampleTrees(repository string) ([]any, error) {
	pages, err := filepath.Glob(filepath.Join(repository, "docs/policy/*.md"))
	if err != nil {
		return nil, err
	}
	policies, err := filepath.Glob(filepath.Join(repository, "examples/policies/*.yaml"))
	if err != nil {
		return nil, err
	}
	var trees []any
	for _, file := range append(pages, policies...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		switch {
		case strings.HasSuffix(file, "_test.yaml"): // a test suite
			continue
		case strings.HasSuffix(file, ".md"):
			data = bytes.Join(yamlBlock.FindAll(data, -1), nil)
			data = regexp.MustCompile("(?m)^```.*").ReplaceAll(data, []byte("---"))
		}
		for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
			var tree any
			if err := yaml.Unmarshal(document, &tree); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			trees = append(trees, tree)
		}
	}
	return trees, nil
}
