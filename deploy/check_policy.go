package deploy

import (
	"strings"

	"github.com/evergate/evergate/policy"
)

// policyInvalid checks that the ConfigMap of --policy contains a policy that loads, if the input has the ConfigMap.
func policyInvalid() check {
	return check{
		id: "policy", severity: Error,
		finds: "a policy that fails to load",
		why: "running replicas keep the last good policy. A new replica never becomes ready with this policy, so " +
			"drains and rollouts stop",
		fix: "correct the policy. evergate policy check reports the same errors before you apply it",
		run: func(c *cluster, r *reporter) {
			if cm := c.policyMap(); c.native && cm != nil {
				if _, err := policy.Load(filesOf(cm)...); err != nil {
					for line := range strings.Lines(err.Error()) {
						r.error(c.ref(cm), "its policy fails to load: %s", strings.TrimSpace(line))
					}
				}
			}
			reported := map[string]bool{} // once for all Deployments that mount the policy
			for _, s := range c.servers {
				_, err := policy.Load(c.policyFilesOf(s)...)
				if err == nil || reported[err.Error()] {
					continue
				}
				reported[err.Error()] = true
				for line := range strings.Lines(err.Error()) {
					r.error(s.process, "its policy fails to load: %s", strings.TrimSpace(line))
				}
			}
		},
	}
}
