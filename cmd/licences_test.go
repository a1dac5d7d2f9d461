package cmd

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLicences checks the licences of all modules that are compiled into a release: into the server and the plugin, on
// each of their platforms. It fails for a module without a licence, and for a licence that it does not recognize.
func TestLicences(t *testing.T) {
	files := map[string]bool{}
	for dir, tags := range map[string]string{"..": "grpcnotrace,nethttpomithttp2", "kubectl-evergate": ""} {
		if _, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil { // go test runs again if it differs
			t.Fatal(err)
		}
		for _, system := range []string{"linux", "darwin", "windows"} {
			for _, p := range dependencies(t, dir, system, tags) {
				found := licenceFiles(t, p)
				if len(found) == 0 {
					t.Errorf("%s has no licence file", p.Module.Path)
				}
				maps.Copy(files, found)
			}
		}
	}
	if len(files) == 0 {
		t.Fatal("there are no dependencies")
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := licences(string(text)); len(found) == 0 {
			t.Errorf("%s is not Apache-2.0, MIT, BSD, ISC or MPL-2.0", file)
		} else {
			t.Logf("%s: %s", file, strings.Join(found, ", "))
		}
	}
}

// dependency is a package of another module, as go list reports it.
type dependency struct {
	ImportPath, Dir string
	Standard        bool
	Module          *struct{ Path, Dir string }
}

// dependencies returns the packages of other modules that the program in dir is compiled from.
func dependencies(t *testing.T, dir, system, tags string) []dependency {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags,
		"-json=ImportPath,Dir,Standard,Module", ".")
	list.Dir = dir
	list.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+system, "GOARCH=amd64")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: go list: %v", dir, err)
	}
	var packages []dependency
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p dependency
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		switch {
		case p.Standard:
		case p.Module == nil || p.Module.Dir == "":
			t.Fatalf("%s: go list reports no module for %s", dir, p.ImportPath)
		case strings.HasPrefix(p.Module.Path+"/", "github.com/evergate/evergate/"): // ours
		default:
			packages = append(packages, p)
		}
	}
}

// licenceFiles returns the licence files in the directory of p and in the directories above it in its module. A module
// may contain code from elsewhere, which has its licence next to it.
func licenceFiles(t *testing.T, p dependency) map[string]bool {
	t.Helper()
	files := map[string]bool{}
	for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := entry.Name()
			if entry.IsDir() || filepath.Ext(name) == ".go" || !licenceFile.MatchString(name) {
				continue
			}
			if name == "LICENSE.docs" { // the licence of the documentation, which is not compiled
				t.Logf("%s: not checked", filepath.Join(dir, name))
				continue
			}
			files[filepath.Join(dir, name)] = true
		}
	}
	return files
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicen[cs]e)([-._](?:\w|-)+)*$`)
	otherSigns  = regexp.MustCompile(`\W+`)
)

// licences returns the licences in a text, and nothing if it contains one that Evergate must not depend on.
func licences(text string) []string {
	text = " " + strings.ToLower(otherSigns.ReplaceAllString(text, " ")) + " "
	has := func(parts ...string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	}
	var found []string
	if has("apache license version 2 0 january 2004", "grant of copyright license") {
		found = append(found, "Apache-2.0")
	}
	if has("permission is hereby granted free of charge to any person obtaining a copy", "included in all copies") {
		found = append(found, "MIT")
	}
	if has("redistribution and use in source and binary forms with or without modification are permitted",
		"redistributions in binary form must reproduce") && !has("advertising materials") {
		found = append(found, "BSD")
	}
	if has("to use copy modify and distribute this software for any purpose with or without fee is hereby granted") ||
		has("to use copy modify and or distribute this software for any purpose with or without fee is hereby granted") {
		found = append(found, "ISC")
	}
	if has("mozilla public license version 2 0", "exhibit a source code form license notice") {
		found = append(found, "MPL-2.0") // its text mentions the licences of GNU, as secondary ones
	} else if has(" gnu ") {
		return nil
	}
	for _, other := range []string{" commons clause ", " business source license ", " server side public license ",
		" noncommercial ", " non commercial ", " creative commons "} {
		if has(other) {
			return nil
		}
	}
	return found
}

// TestLicencesAreRecognized checks that licences does not accept a text with a further licence.
func TestLicencesAreRecognized(t *testing.T) {
	mit := "Permission is hereby granted, free of charge, to any person\nobtaining a copy of this software. " +
		"The notice shall be included in\nall copies."
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":          {"", nil},
		"MIT":            {mit, []string{"MIT"}},
		"MIT and GPL":    {mit + "\nGNU GENERAL PUBLIC LICENSE\nVersion 3", nil},
		"Commons Clause": {mit + "\n“Commons Clause” License Condition v1.0", nil},
		"BSD with an advertising clause": {"Redistribution and use in source and binary forms, with or without " +
			"modification, are permitted. Redistributions in binary form must reproduce the notice. All advertising " +
			"materials must display it.", nil},
		"an excerpt": {"Licensed under the Apache License, Version 2.0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := licences(c.text); !slices.Equal(got, c.want) {
				t.Errorf("licences: %v, want %v", got, c.want)
			}
		})
	}
}
