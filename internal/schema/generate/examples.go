package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	// pageLink matches a link to a page, in the first column of the table of contents in docs/policy/README.md.
	pageLink  = regexp.MustCompile(`(?m)^\| \[[^\]]+\]\(([a-z-]+\.md)\) \|`)
	yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
)

// exampleTrees returns the YAML documents in docs/policy, in the order of its table of contents, and then the documents
// in examples/policies.
func exampleTrees(repository string) ([]any, error) {
	reference := filepath.Join(repository, "docs/policy")
	contents, err := os.ReadFile(filepath.Join(reference, "README.md"))
	if err != nil {
		return nil, err
	}
	var trees []any
	for _, link := range pageLink.FindAllSubmatch(contents, -1) {
		page, err := os.ReadFile(filepath.Join(reference, string(link[1])))
		if err != nil {
			return nil, err
		}
		for _, block := range yamlBlock.FindAllSubmatch(page, -1) {
			if trees, err = appendDocuments(trees, block[1]); err != nil {
				return nil, fmt.Errorf("%s: %w", link[1], err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(repository, "examples/policies/*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.yaml") {
			continue // a test suite
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if trees, err = appendDocuments(trees, data); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return trees, nil
}

// appendDocuments appends the documents of a YAML file that are not empty.
func appendDocuments(trees []any, data []byte) ([]any, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var root yaml.Node
		if err := dec.Decode(&root); errors.Is(err, io.EOF) {
			return trees, nil
		} else if err != nil {
			return nil, err
		}
		datesAsText(&root)
		var tree any
		if err := root.Decode(&tree); err != nil {
			return nil, err
		}
		if tree != nil {
			trees = append(trees, tree)
		}
	}
}

// datesAsText turns dates without quotes into strings, as YAML 1.2 does.
func datesAsText(n *yaml.Node) {
	if n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, inner := range n.Content {
		datesAsText(inner)
	}
}
