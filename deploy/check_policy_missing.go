package deploy

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/policy"
)

// policyMissing checks that --policy is in a mounted volume. If the input has its ConfigMap or is a live cluster, the
// ConfigMap has to be in the namespace of the Deployment and contain a policy file with entries.
func policyMissing() check {
	return check{
		id: "policy-missing", severity: Error,
		finds: "a policy that has no effect because its path or namespace is wrong, its files are not loaded, or it " +
			"does not have any entries",
		why: "without a policy, Evergate allows every object and does not rewrite any image. The process logs a " +
			"warning, but it is ready and answers, so no probe or call shows the problem",
		fix: "mount the ConfigMap at --policy, in the namespace of the Deployment, with keys that end in .yaml and do " +
			"not begin with a dot. With the component require-policy, a replica without a policy is not ready",
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
	v, mount := s.volumeAt(path)
	if v == nil {
		r.error(s.process, "--policy is %s, and no volume is mounted there", path)
		return
	}
	at, mounts, files := s.process, s.policyConfigMaps(), []policy.File(nil)
	known := len(mounts) > 0 && (v.Projected == nil || len(v.Projected.Sources) == len(mounts))
	for _, mounted := range mounts {
		name := mounted.Name
		cm := find(c.configMaps, s.Namespace, name)
		elsewhere := slices.IndexFunc(c.configMaps, func(cm *corev1.ConfigMap) bool { return cm.Name == name })
		if cm != nil {
			at, files = c.ref(cm), append(files, volumeFiles(cm, mounted.Items)...)
			continue
		}
		known = false
		switch {
		case elsewhere >= 0:
			r.error(s.process, "the ConfigMap %s of its policy is in the namespace %s, from where no Pod of %s can mount it",
				name, c.configMaps[elsewhere].Namespace, s.Namespace)
		case c.live && !c.unread("configmaps"):
			r.error(s.process, "there is no ConfigMap %s, which contains its policy", name)
		}
	}
	below := s.inVolume(path, mount)
	contained := func(f policy.File) bool { return strings.HasPrefix(f.Name+"/", below+"/") }
	switch {
	case !known || mount.SubPath+mount.SubPathExpr != "": // see the check sub-path
	case below != "" && !slices.ContainsFunc(files, contained):
		r.error(s.process, "--policy is %s, which is not in the volume; the volume contains: %s", path,
			some(fileNames(files)))
	default:
		checkFiles(at, below, files, r)
	}
}

// checkPolicyOfNative checks the ConfigMap of an installation with only native policies. The audit reads it, and
// preflight compares the native policies with it.
func (c *cluster) checkPolicyOfNative(r *reporter) {
	switch cm := c.policyMap(); {
	case cm != nil:
		checkFiles(c.ref(cm), "", volumeFiles(cm, nil), r)
	case c.live && !c.unread("configmaps"):
		r.error(c.anchor(), "there is no ConfigMap evergate-policy with the policy that the native policies were exported "+
			"from")
	}
}

// checkFiles reports a volume whose files do not contain a policy with entries: see loadedFrom. at is its ConfigMap,
// and path is --policy within the volume. The check policy reports a policy that fails to load.
func checkFiles(at ref, path string, files []policy.File, r *reporter) {
	loaded := loadedFrom(path, files)
	if len(loaded) == 0 {
		r.error(at, "evergate serve loads only files directly in --policy whose names end in .yaml or .yml and do not begin "+
			"with a dot, and the volume contains: %s", some(fileNames(files)))
		return
	}
	if p, err := policy.Load(loaded...); err == nil && p.Emptied() {
		r.error(at, "its policy has no entries: every object is allowed")
	}
}

// fileNames lists the names of files.
func fileNames(files []policy.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, printable(f.Name))
	}
	return names
}
