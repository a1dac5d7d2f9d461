package deploy

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// DryRun is the answer of an API server to the creation of a Pod of a Deployment as a dry run.
type DryRun struct {
	Deployment   string      // the name of the Deployment, in the namespace of Evergate
	Pod          *corev1.Pod // the Pod that the API server would create; nil if it rejects it
	Rejected     string      // the reason for which the API server rejects the Pod; empty if it would create it
	AsController bool        // as the account of the ReplicaSet controller, which creates these Pods
}

// Serving returns the Deployments that run evergate serve in the namespace of Evergate.
func (inv *Inventory) Serving() []*appsv1.Deployment {
	c, err := newCluster(inv, Options{})
	if err != nil {
		return nil // no webhook of Evergate
	}
	var all []*appsv1.Deployment
	for _, s := range c.servers {
		all = append(all, s.Deployment)
	}
	return all
}

// answered reports whether an API server has answered a dry run for each Deployment, as the account that creates its
// Pods. Then checks do not have to predict the admission of Pods.
func (c *cluster) answered() bool {
	return len(c.servers) > 0 && !slices.ContainsFunc(c.servers, func(s *server) bool {
		return !slices.ContainsFunc(c.dryRuns, func(d DryRun) bool { return d.Deployment == s.Name && d.AsController })
	})
}

// checksOfPods lists the checks that use only the containers and other fields of a Pod, and no selectors.
func checksOfPods() []check {
	return []check{
		memoryLimit(), cpuLimit(), gracePeriod(), preStop(), readiness(), liveness(), serveFlags(), hostNetwork(),
	}
}

// proxied reports whether admission adds containers to a Pod.
func (c *cluster) proxied() bool {
	return slices.ContainsFunc(c.servers, func(s *server) bool { return len(c.addedContainers(s)) > 0 })
}

// changedPods returns the findings about Pods that admission changes. The checks of checksOfPods report them about
// the Pod of a dry run and do not report them about its Deployment.
func (c *cluster) changedPods(o Options) []Finding {
	inv := *c.Inventory // a copy with the Pods of the dry runs as templates
	inv.sources = maps.Clone(inv.sources)
	inv.deployments = slices.Clone(inv.deployments)
	changed := false
	for i, d := range inv.deployments {
		j := slices.IndexFunc(c.dryRuns, func(r DryRun) bool { return r.Deployment == d.Name && r.Pod != nil })
		if j < 0 || d.Namespace != c.namespace {
			continue
		}
		changed = true
		inv.deployments[i] = d.DeepCopy()
		c.dryRuns[j].Pod.Spec.DeepCopyInto(&inv.deployments[i].Spec.Template.Spec)
		inv.sources[inv.deployments[i]] = inv.sources[d]
	}
	admitted, err := newCluster(&inv, o)
	if !changed || err != nil {
		return nil
	}
	var all []Finding
	for _, check := range checksOfPods() {
		if isProbe := check.id == "readiness" || check.id == "liveness"; isProbe && c.proxied() {
			continue // a proxy answers probes in place of the container: sidecar-injection
		}
		before, after := reporter{check: &check}, reporter{check: &check}
		check.run(c, &before)
		check.run(admitted, &after)
		known := before.findings()
		for _, f := range after.findings() {
			if !slices.Contains(known, f) {
				f.Message = "the Pod that the API server would create differs from the template: " + f.Message
				all = append(all, f)
			}
		}
	}
	return all
}
