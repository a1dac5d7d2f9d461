package deploy

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/policy"
)

// policyMissing: --policy is a mounted volume. Its ConfigMap, where the input has it or is a live cluster, stands in
// the namespace of the Deployment and has a policy file with entries.
func policyMissing() check {
	return check{
		id: "policy-missing", severity: Error,
		finds: "a policy that the process does not get: another path, another namespace, a key without .yaml, no entry",
		why: "without a policy everything is allowed, and no image is rewritten; the process says so in its log, is ready " +
			"and answers, so that nothing else shows it",
		fix: "mount the ConfigMap at --policy, in the namespace of the Deployment, with keys that end in .yaml; with the " +
			"component require-policy a replica without a policy is not ready",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				if !s.settings.Dev && s.settings.Known("policy") {
					c.checkPolicyOf(s, r)
				}
			}
		},
	}
}

func (c *cluster) checkPolicyOf(s *server, r *reporter) {
	path := s.settings.Policy
	if path == "" && s.settings.RequirePolicy {
		return // serve-flags
	}
	if path == "" {
		r.warning(s.process, "it has no --policy: every object is allowed")
		return
	}
	if v, _ := s.volumeAt(path); v == nil {
		r.error(s.process, "--policy is %s, and no volume is mounted there", path)
		return
	}
	for _, name := range s.policyConfigMaps() {
		cm := find(c.configMaps, s.Namespace, name)
		elsewhere := slices.IndexFunc(c.configMaps, func(cm *corev1.ConfigMap) bool { return cm.Name == name })
		switch {
		case cm != nil:
			c.checkPolicyIn(cm, r)
		case elsewhere >= 0:
			r.error(s.process, "the ConfigMap %s of its policy is in the namespace %s, from where no Pod of %s can mount it",
				name, c.configMaps[elsewhere].Namespace, s.Namespace)
		case c.live:
			r.error(s.process, "there is no ConfigMap %s, which holds its policy", name)
		}
	}
}

// checkPolicyIn reports a ConfigMap without a policy. Whether its policy loads is what the check policy looks at.
func (c *cluster) checkPolicyIn(cm *corev1.ConfigMap, r *reporter) {
	files := filesOf(cm)
	if len(files) == 0 {
		keys := slices.Sorted(maps.Keys(cm.Data))
		r.error(c.ref(cm), "no key of it ends in .yaml or .yml, and others are not loaded: %s", some(keys))
		return
	}
	if p, err := policy.Load(files...); err == nil && p.Emptied() {
		r.error(c.ref(cm), "there is no entry in it: every object is allowed")
	}
}
