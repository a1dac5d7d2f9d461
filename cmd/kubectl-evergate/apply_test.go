package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestAsk: only a yes applies a policy; that nothing was applied ends with exit code 1.
func TestAsk(t *testing.T) {
	for answer, applies := range map[string]bool{
		"y\n": true, "Yes\n": true, " yes \n": true, "y": true,
		"n\n": false, "\n": false, "": false, "yesterday\n": false, "ja\n": false,
	} {
		var stderr bytes.Buffer
		a := &app{stdin: strings.NewReader(answer), stderr: &stderr}
		err := a.ask("objects would be newly denied")
		if (err == nil) != applies {
			t.Errorf("%q: error %v", answer, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "nothing was applied") {
			t.Errorf("%q: %v", answer, err)
		}
		if want := "evergate: objects would be newly denied. Apply the policy? [y/N] "; stderr.String() != want {
			t.Errorf("asked %q, want %q", stderr.String(), want)
		}
	}
}
