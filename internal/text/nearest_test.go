package text

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"replicas", "selector", "strategy"}
	for unknown, want := range map[string]string{
		"replica": "replicas", "Replicas": "replicas", "strategi": "strategy", "image": "", "": "",
		strings.Repeat("replicas", 1000): "",
	} {
		if got := Nearest(unknown, known); got != want {
			t.Errorf("Nearest(%.20s) = %q, want %q", unknown, got, want)
		}
	}
}
