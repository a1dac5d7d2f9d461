package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/policy"
)

// policyMissing checks that --policy is in a mounted volume. If the input has its ConfigMap or is a live cluster, the
// ConfigMap has to be in the namespace of the Deployment and contain a policy file with entries.
func policyMissing() check {
	return check{
		id: "policy-missing", severity: Error,
		finds: "a policy that has no effect because its path or namespace is wrong, its keys do not end in .yaml, or " +
			"it does not have any entries",
		why: "without a policy, Evergate allows every object and does not rewrite any image. The process logs a " +
			"warning, but it is ready and answers, so no probe or call shows the problem",
		fix: "mount the ConfigMap at --policy, in the namespace of the Deployment, with keys that end in .yaml. " +
			"With the component require-policy, a replica without a policy is not ready",
		run: func(c *cluster, r *reporter) {
			if c.native {
				c.checkPolicyOfNative(r)
			}
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
		return // see the check serve-flags
	}
	if path == "" {
		r.warning(s.process, "it has no --policy: every object is allowed")
		return
	}
	if v, _ := s.volumeAt(path); v == nil {
		r.error(s.process, "--policy is %s, and no volume is mounted there", path)
		return
	}
	for _, mounted := range s.policyConfigMaps() {
		name := mounted.Name
		cm := find(c.configMaps, s.Namespace, name)
		elsewhere := slices.IndexFunc(c.configMaps, func(cm *corev1.ConfigMap) bool { return cm.Name == name })
		switch {
		case cm != nil:
			c.checkPolicyIn(cm, mounted.Items, r)
		case elsewhere >= 0:
			r.error(s.process, "the ConfigMap %s of its policy is in the namespace %s, from where no Pod of %s can mount it",
				name, c.configMaps[elsewhere].Namespace, s.Namespace)
		case c.live && !c.unread("configmaps"):
			r.error(s.process, "there is no ConfigMap %s, which contains its policy", name)
		}
	}
}

// checkPolicyOfNative checks the ConfigMap of an installation with only native policies. The audit reads it, and
// preflight compares the native policies with it.
func (c *cluster) checkPolicyOfNative(r *reporter) {
	switch cm := c.policyMap(); {
	case cm != nil:
		c.checkPolicyIn(cm, nil, r)
	case c.live && !c.unread("configmaps"):
		r.error(c.anchor(), "there is no ConfigMap evergate-policy with the policy that the native policies were exported "+
			"from")
	}
}

// checkPolicyIn reports a ConfigMap without a policy, or a volume without the keys of the policy: see filesOf. The
// check policy reports a policy that fails to load.
func (c *cluster) checkPolicyIn(cm *corev1.ConfigMap, items []corev1.KeyToPath, r *reporter) {
	files := filesOf(cm, items...)
	switch {
	case len(files) > 0:
	case len(filesOf(cm)) > 0:
		r.error(c.ref(cm), "the items of its volume do not contain any policy file: add one of %s", some(keysOf(cm)))
		return
	default:
		r.error(c.ref(cm), "none of its keys ends in .yaml or .yml, and other keys are not loaded: %s", some(keysOf(cm)))
		return
	}
	if p, err := policy.Load(files...); err == nil && p.Emptied() {
		r.error(c.ref(cm), "its policy has no entries: every object is allowed")
	}
}
