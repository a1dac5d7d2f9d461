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

// repository is where all documents lie.
const repository = ".."

var (
	fence      = regexp.MustCompile("(?ms)^[ \t]*```(\\w*)\n(.*?)^[ \t]*```")
	inlineCode = regexp.MustCompile("`([^`]+)`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// An evergate at the beginning of a command, also by go run, and from its image by docker run.
	commandLine = regexp.MustCompile(
		"(?m)(?:(?:^|[|;(]|&&)[ \t]*(?:evergate|go run \\.)|docker run .*/evergate:[\\w.]+)[ \t]+([^|;#>)\n]+)")
	pathInShell = regexp.MustCompile(`(?:^|[\s=])((?:[\w.-]+/)+[\w.-]*)(?:[\s]|$)`)
)

// documents returns the Markdown of the repository by its path. Lines that a backslash continues are joined.
func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
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

// Every relative link leads to a file, and what follows its # to a heading.
func TestDocumentedLinks(t *testing.T) {
	docs, headings := documents(t), map[string][]string{}
	for path, text := range docs {
		headings[path] = anchors(text)
	}
	for path, text := range docs {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], ":") {
				continue // to somewhere else
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

// anchors returns what headings are linked by: lower case, hyphens for blanks, no punctuation.
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

// Every command line of evergate names a command that exists, and flags that it has.
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

// parses says whether words name a command and its flags. A command may lack the arguments that it needs.
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

// onlyCommands refuses what is left of the words when they end in a group of commands.
func onlyCommands(c *cobra.Command, args []string) error {
	if c.HasSubCommands() && len(args) > 0 {
		return fmt.Errorf("%s has no command %s", c.CommandPath(), args[0])
	}
	return nil
}

// Every path in a shell's lines that begins with a directory of the repository exists.
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
				if top == "bin" || top == "dist" { // what is built
					continue
				}
				if _, err := os.Stat(filepath.Join(repository, match[1])); err != nil {
					t.Errorf("%s: %s: %v", path, match[1], err)
				}
			}
		}
	}
}
