package cmd

import (
	"testing"

	"github.com/evergate/evergate/deploy"
)

// TestServeDefaults checks that preflight counts with the defaults that serve has.
func TestServeDefaults(t *testing.T) {
	flags := newServeCommand().Flags()
	for name, want := range deploy.ServeDefaults() {
		f := flags.Lookup(name)
		if f == nil {
			t.Errorf("serve has no flag --%s", name)
		} else if f.DefValue != want {
			t.Errorf("--%s is %s by default, and preflight counts with %s", name, f.DefValue, want)
		}
	}
}
