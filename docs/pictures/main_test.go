package main

import (
	"bytes"
	"os"
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
