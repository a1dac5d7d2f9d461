package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// repository is the root directory of all documents.
const repository = ".."

var (
	fence      = regexp.MustCompile("(?ms)^[ \t]*```(\\w*)\n(.*?)^[ \t]*```")
	inlineCode = regexp.MustCompile("`([^`]+)`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// A command that begins with evergate, go run, or docker run with its image.
	commandLine = regexp.MustCompile(
		"(?m)(?:(?:^|[|;(]|&&)[ \t]*(?:evergate|go run \\.)|docker run .*/evergate:[\\w.]+)[ \t]+([^|;#>)\n]+)")
	pathInShell = regexp.MustCompile(`(?:^|[\s=])((?:[\w.-]+/)+[\w.-]*)(?:[\s]|$)`)
)

// documents returns the Markdown files in the repository by path. It joins lines that end in a backslash with the
// next line.
func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains([]string{"node_modules", "build", "dist"}, entry.Name()) {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		docs[path] = strings.ReplaceAll(string(text), "\\\n", " ")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) < 10 {
		t.Fatalf("only %d documents: %v", len(docs), slices.Sorted(maps.Keys(docs)))
	}
	return docs
}

// Every relative link refers to an existing file, and its fragment to a heading.
func TestDocumentedLinks(t *testing.T) {
	docs, headings := documents(t), map[string][]string{}
	for path, text := range docs {
		headings[path] = anchors(text)
	}
	for path, text := range docs {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], ":") {
				continue // an external link
			}
			file, anchor, _ := strings.Cut(match[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %s: %v", path, match[1], err)
			}
			if anchor != "" && !slices.Contains(headings[target], anchor) {
				t.Errorf("%s: the link to %s: no such heading", path, match[1])
			}
		}
	}
}

// anchors returns the link fragments of headings: lower case, hyphens instead of blanks, no punctuation.
func anchors(markdown string) []string {
	var names []string
	for _, match := range heading.FindAllStringSubmatch(markdown, -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case strings.ContainsRune("`.,:;'\"?!/()", r):
				return -1
			}
			return r
		}, strings.ToLower(match[1])))
	}
	return names
}

// Every evergate command line uses an existing command and existing flags.
func TestDocumentedCommandLines(t *testing.T) {
	var seen int
	for path, text := range documents(t) {
		var code []string
		for _, match := range fence.FindAllStringSubmatch(text, -1) {
			code = append(code, match[2])
		}
		for _, match := range inlineCode.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			code = append(code, match[1])
		}
		for _, match := range commandLine.FindAllStringSubmatch(strings.Join(code, "\n"), -1) {
			seen++
			if err := parses(strings.Fields(match[1])); err != nil {
				t.Errorf("%s: evergate %s: %v", path, match[1], err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d command lines were found", seen)
	}
}

// parses returns an error if words are not a command with its flags. Required arguments may be missing.
func parses(words []string) error {
	c, args, err := newRootCommand(nil).Find(words)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(args); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return onlyCommands(c, c.Flags().Args())
}

// onlyCommands returns an error if words remain after a group of commands.
func onlyCommands(c *cobra.Command, args []string) error {
	if c.HasSubCommands() && len(args) > 0 {
		return fmt.Errorf("%s has no command %s", c.CommandPath(), args[0])
	}
	return nil
}

// Every path in a shell command that begins with a directory of the repository exists.
func TestDocumentedPaths(t *testing.T) {
	for path, text := range documents(t) {
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			if block[1] != "sh" {
				continue
			}
			for _, match := range pathInShell.FindAllStringSubmatch(block[2], -1) {
				top, _, _ := strings.Cut(match[1], "/")
				if info, err := os.Stat(filepath.Join(repository, top)); err != nil || !info.IsDir() || top == "." || top == ".." {
					continue
				}
				if top == "bin" || top == "dist" { // build output
					continue
				}
				if _, err := os.Stat(filepath.Join(repository, match[1])); err != nil {
					t.Errorf("%s: %s: %v", path, match[1], err)
				}
			}
		}
	}
}
