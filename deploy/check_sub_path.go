package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// subPath checks that Secrets and ConfigMaps are mounted as directories.
func subPath() check {
	return check{
		id: "sub-path", severity: Error,
		finds: "a Secret or ConfigMap that is mounted by subPath",
		why: "the kubelet never updates such a mount. The process serves its first certificate even after it has " +
			"expired, and never loads a new policy",
		fix: "mount the whole volume as a directory",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			for _, m := range s.container.VolumeMounts {
				updates := slices.ContainsFunc(s.pod.Volumes, func(v corev1.Volume) bool {
					return v.Name == m.Name && (v.Secret != nil || v.ConfigMap != nil || v.Projected != nil)
				})
				if updates && m.SubPath+m.SubPathExpr != "" {
					r.error(s.process, "%s is mounted by subPath: it is never updated", m.MountPath)
				}
			}
		}),
	}
}
