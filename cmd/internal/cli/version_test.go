package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	main := debug.Module{Version: "v1.2.3"}
	recorded := &debug.BuildInfo{GoVersion: "go1.26.8", Main: main, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	linked := Version{Version: "v2.0.0", Commit: "def", Date: "2027-01-01T00:00:00Z"}
	for _, tt := range []struct {
		name   string
		info   *debug.BuildInfo
		linked Version
		want   string
	}{
		{"recorded", recorded, Version{}, "v1.2.3, commit abc with changes, 2026-01-02T03:04:05Z, go1.26.8"},
		{"linked", recorded, linked, "v2.0.0, commit def, 2027-01-01T00:00:00Z, go1.26.8"},
		{"neither", nil, Version{}, "unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.linked.with(tt.info).String(); got != tt.want {
				t.Error(got)
			}
		})
	}
}
