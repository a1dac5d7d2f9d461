package main

import (
	"bytes"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestUpToDate checks that the pictures are drawn from the current figures.
func TestUpToDate(t *testing.T) {
	files, err := draw(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date: run make pictures (%v)", name, err)
		}
	}
}

// TestAlternativeTexts checks the pictures in pages: a picture with a light and a dark version has its title as the
// alternative text, and each file is in a page.
func TestAlternativeTexts(t *testing.T) {
	shown := map[string]bool{"main.go": true, "main_test.go": true, "data": true}
	image := regexp.MustCompile(`<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]*)-dark\.svg">` +
		`\s*<img src="([^"]*)-light\.svg" alt="([^"]*)">\s*</picture>|!\[[^\]]+\]\(pictures/(\S+)\)`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && strings.HasPrefix(entry.Name(), "node_modules") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range image.FindAllStringSubmatch(string(text), -1) {
			dark, light, alt, file := match[1], match[2], strings.Join(strings.Fields(match[3]), " "), match[4]
			shown[file] = true
			if file != "" {
				continue
			}
			svg, err := os.ReadFile(filepath.Join(filepath.Dir(path), light+"-light.svg"))
			if err != nil || dark != light || !strings.Contains(string(svg), "<title>"+html.EscapeString(alt)+"</title>") {
				t.Errorf("%s: the alternative text of %s is not its title: %s (%v)", path, light, alt, err)
			}
			shown[filepath.Base(light)+"-light.svg"], shown[filepath.Base(dark)+"-dark.svg"] = true, true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !shown[file.Name()] {
			t.Errorf("no page shows %s", file.Name())
		}
	}
}
