package deploy

import "slices"

// checks returns all checks, in the order in which they report. A new check is a file of its own, check_ID.go, a line
// here, a bad manifest in testdata/ID.bad.yaml and, by go test -update, its section in docs/preflight.md.
func checks() []check { return slices.Concat(webhookChecks(), deploymentChecks(), clusterChecks()) }

func webhookChecks() []check {
	return []check{
		// Webhooks: what they match.
		wildcardRule(),
		noNamespaceSelector(),
		protectedNamespace(),
		platformNamespace(),
		scope(),
		missingRule(),
		objectSelector(),
		unconditionalUpdate(),
		policyGuard(),
		loadBalancerStatus(),
		otherEverything(),
		otherDeadlock(),
		// Webhooks: how they are called.
		missingWebhook(),
		setWebhook(),
		templatesWebhook(),
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
		serviceTraffic(),
		networkPolicy(),
		monitoringNamespace(),
		collectorEgress(),
	}
}

func deploymentChecks() []check {
	return []check{
		// The Deployment.
		deploymentMissing(),
		podRejected(),
		duplicateDeployment(),
		listenPort(),
		serveFlags(),
		listenAddress(),
		gracePeriod(),
		preStop(),
		singleReplica(),
		rollout(),
		disruptionBudget(),
		surge(),
		spread(),
		spreadDomains(),
		nodeSelector(),
		nodeOS(),
		fargate(),
		readiness(),
		liveness(),
		memoryLimit(),
		verticalAutoscaler(),
		cpuLimit(),
		imageTag(),
		subPath(),
		criticalQuota(),
		resourceQuota(),
		limitRange(),
		uidRangeCheck(),
		podSecurity(),
		hostNetwork(),
		serviceAccount(),
		sidecarInjection(),
		mountableSecrets(),
	}
}

func clusterChecks() []check {
	return []check{
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
		optInValue(),
		// The policy.
		policyMissing(),
		policyInvalid(),
		secondChance(),
		mirrorNamespace(),
		hostAnnotation(),
		backstopPolicy(),
		// A live cluster.
		servedChain(),
		certificateExpiry(),
		endpoints(),
		placement(),
		coverage(),
	}
}
