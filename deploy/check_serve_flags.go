package deploy

import (
	"strings"

	"github.com/evergate/evergate/internal/settings"
	"github.com/evergate/evergate/internal/text"
)

// serveFlags: evergate serve starts with the arguments and the variables of its container. They are read by its own
// code, so that what it would refuse is found with its own words. What the input does not hold, such as a Secret, is
// not judged. It is a warning where a variable EVERGATE_* sets no flag.
func serveFlags() check {
	return check{
		id: "serve-flags", severity: Error,
		finds: "flags and variables that evergate serve refuses, and variables that it ignores; variables from a key " +
			"that its ConfigMap does not have",
		why: "a process that refuses its settings ends at once, again and again: the roll-out stops at its first " +
			"replica, and an installation never answers",
		fix: "write what the finding says; docs/serve.md lists flags and variables",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				for _, problem := range s.env.problems {
					r.error(s.process, "%s: the container is not started", problem)
				}
				for _, err := range s.refused {
					r.error(s.process, "%s", sentence(err))
				}
				for _, err := range s.env.vars.Ignored(settings.SetsFlag) {
					r.warning(s.process, "%s", sentence(err))
				}
			}
		},
	}
}

// sentence returns what an error says, without what would do something to a terminal.
func sentence(err error) string {
	const most = 500 // bytes: it holds a value of the manifest, or two
	return text.Printable(strings.ReplaceAll(err.Error(), settings.Unknown, "…"), most)
}
