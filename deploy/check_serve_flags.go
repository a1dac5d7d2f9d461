package deploy

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/settings"
)

// serveFlags checks that evergate serve starts with the arguments and variables of its container. It parses them with
// the code of evergate serve, so a finding contains the same error. It does not check values that are not in the
// input, for example in a Secret. A variable EVERGATE_* that does not set a flag is a warning.
func serveFlags() check {
	return check{
		id: "serve-flags", severity: Error, needs: []premise{wired()},
		finds: "flags and variables that evergate serve rejects, variables that it ignores, and variables from a " +
			"key that the ConfigMap does not have",
		why: "a process with wrong settings exits immediately after each start. A rollout stops at its first " +
			"replica, and a new installation never answers",
		fix: "correct the setting as the finding suggests. docs/serve.md lists the flags and variables",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			for _, problem := range s.env.problems {
				r.error(s.process, "%s: the container is not started", problem)
			}
			for _, err := range s.rejected {
				r.error(s.process, "%s", sentence(err))
			}
			for _, err := range s.env.vars.Ignored(settings.SetsFlag) {
				r.warning(s.process, "%s", sentence(err))
			}
		}),
	}
}

// sentence returns the text of an error without characters that a terminal would interpret.
func sentence(err error) string {
	const most = 500 // bytes: the error contains one or two values of the manifest
	return text.Printable(strings.ReplaceAll(err.Error(), settings.Unknown, "…"), most)
}
