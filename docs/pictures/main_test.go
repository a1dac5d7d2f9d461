package main

import (
	"bytes"
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
	stored, err := filepath.Glob("*.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stored {
		if files[name] == nil {
			t.Errorf("%s is not drawn any more: remove it", name)
		}
	}
}

// TestAlternativeTexts checks that each picture is in a page, and that its alternative text there is the title of the
// picture.
func TestAlternativeTexts(t *testing.T) {
	shown := map[string]bool{}
	image := regexp.MustCompile(`<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]*)-dark\.svg">` +
		`\s*<img src="([^"]*)-light\.svg" alt="([^"]*)">\s*</picture>`)
	known := pictures(root)
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
		found := image.FindAllStringSubmatch(string(text), -1)
		if len(found) != strings.Count(string(text), "<picture>") {
			t.Errorf("%s has a picture without the expected form", path)
		}
		for _, match := range found {
			dark, light, alt := match[1], match[2], strings.Join(strings.Fields(match[3]), " ")
			name := filepath.Base(light)
			shown[name] = true
			if want := filepath.Join(root, directory, name); filepath.Join(filepath.Dir(path), light) != want || dark != light {
				t.Errorf("%s: the pictures %s and %s are not %s", path, light, dark, want)
			}
			if alt != known[name].alt {
				t.Errorf("%s: the alternative text of %s is\n%s\nwant\n%s", path, name, alt, known[name].alt)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		if !shown[name] {
			t.Errorf("no page shows %s", name)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestScale(t *testing.T) {
	for end, want := range map[float64]float64{6: 1, 7.4: 2, 29: 5, 0.5: 0.1} {
		if got := scale(end); got < want*0.999 || got > want*1.001 {
			t.Errorf("%g: got %g, want %g", end, got, want)
		}
	}
}
