package deploy

// checks returns all checks, in the order in which they report. A new check is a file of its own, check_ID.go, a line
// here, a bad manifest in testdata/ID.bad.yaml and, by go test -update, its section in docs/preflight.md.
func checks() []check {
	return []check{
		// Webhooks: what they match.
		wildcardRule(),
		noNamespaceSelector(),
		protectedNamespace(),
		scope(),
		unconditionalUpdate(),
		policyGuard(),
		loadBalancerStatus(),
		otherEverything(),
		otherDeadlock(),
		// Webhooks: how they are called.
		hookPath(),
		timeout(),
		sideEffects(),
		matchPolicy(),
		mutation(),
		literalCABundle(),
		caInjector(),
		// The way to the Pods.
		serviceMissing(),
		serviceTarget(),
		networkPolicy(),
		monitoringNamespace(),
		collectorEgress(),
		// The Deployment.
		deploymentMissing(),
		serveFlags(),
		gracePeriod(),
		preStop(),
		singleReplica(),
		rollout(),
		disruptionBudget(),
		surge(),
		spread(),
		readiness(),
		liveness(),
		imageTag(),
		subPath(),
		criticalQuota(),
		// Certificates.
		certificateMissing(),
		certificateNames(),
		certificateUsages(),
		certificateKey(),
		certificateDurations(),
		caRotation(),
		selfSignedLeaf(),
		privateKey(),
		// Rights.
		rbac(),
		accountToken(),
		optInGuard(),
		// The policy.
		policyMissing(),
		policyInvalid(),
		secondChance(),
		mirrorNamespace(),
		// A live cluster.
		servedChain(),
		certificateExpiry(),
		endpoints(),
		placement(),
		coverage(),
	}
}
