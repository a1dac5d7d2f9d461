package deploy

import (
	"strings"

	"github.com/evergate/evergate/policy"
)

// policyInvalid: the ConfigMap of --policy, where the input has it, holds a policy that loads.
func policyInvalid() check {
	return check{
		id: "policy", severity: Error,
		finds: "a policy that does not load",
		why: "running replicas keep the last good policy; a replica that starts with this one never gets ready, " +
			"so that a drain or a roll-out stands still",
		fix: "correct it: evergate policy check says the same before it is applied",
		run: func(c *cluster, r *reporter) {
			reported := map[string]bool{} // of several Deployments that mount one policy
			for _, s := range c.servers {
				_, err := policy.Load(c.policyFilesOf(s)...)
				if err == nil || reported[err.Error()] {
					continue
				}
				reported[err.Error()] = true
				for line := range strings.Lines(err.Error()) {
					r.error(s.process, "its policy does not load: %s", strings.TrimSpace(line))
				}
			}
		},
	}
}
