package deploy

import "slices"

// checks returns all checks, in the order in which they report. To add a check, add a file check_ID.go, a line here
// and a bad manifest testdata/ID.bad.yaml. Then go test -update generates its section in docs/preflight.md.
func checks() []check { return slices.Concat(webhookChecks(), deploymentChecks(), clusterChecks()) }

func webhookChecks() []check {
	return []check{
		// The objects that webhooks match.
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
		// The calls of webhooks.
		settingsInUse(),
		missingWebhook(),
		unneededWebhook(),
		ruleSetWebhook(),
		templatesWebhook(),
		hookPath(),
		timeout(),
		sideEffects(),
		reviewVersion(),
		matchPolicy(),
		mutation(),
		literalCABundle(),
		caInjector(),
		// The network path to the Pods.
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
		noNode(),
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
		// Permissions.
		rbac(),
		accountToken(),
		optInGuard(),
		optInValue(),
		// The policy.
		policyMissing(),
		policyInvalid(),
		retryWebhookPrefixes(),
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
