package chart

import "strings"

// factor is a value of the chart that selects components. Its first option is the default.
type factor struct {
	path     string // in values.yaml
	sentence string // for the documentation
	options  []option
	overlay  bool // the overlays of the manifests set it, below the components that users add
}

// option is a value of a factor, with the components and the patches that it adds to the base.
type option struct {
	value      any // a bool or a string
	components []string
	overlay    string // its patches are added
	patch      string
}

// factors returns the factors in the order in which their components are listed in an overlay.
func factors() []factor {
	return []factor{
		{
			"failureMode", "The overlay: fail-open admits objects when no replica answers, and fail-closed rejects them.",
			[]option{
				{value: "fail-open", overlay: "fail-open"},
				{value: "fail-closed", overlay: "fail-closed"},
			},
			true,
		},
		{
			"createNamespace",
			"Creates the namespace. Helm does not delete it with the release, because it contains your policy.",
			[]option{{value: true}, {value: false, patch: noNamespace}},
			false,
		},
		on("certManager", "cert-manager",
			"Issues the serving certificate with cert-manager. Without it, you provide the Secret evergate-tls and caBundle."),
		on("networkPolicy", "network-policy", "Limits the clients of Evergate, and blocks its outgoing traffic."),
		off("audit", "audit", "Checks the objects in the cluster once a day, with a CronJob."),
		off("plugin", "plugin", "Adds a Role for users of kubectl evergate. You bind it."),
		off("autoscaling", "autoscaling", "Scales the number of replicas with the load. It needs metrics-server."),
		{
			"traces", "The destination of traces: none, your collector, or a Jaeger that the chart installs.",
			[]option{
				{value: "none"},
				{value: "collector", components: []string{"collector"}},
				{value: "jaeger", components: []string{"jaeger"}},
				{value: "jaeger-v1", components: []string{"jaeger-v1"}},
			},
			false,
		},
		group("pods", "no-pods", "The webhooks for Pods and workloads, which also rewrite images."),
		group("ingressesAndServices", "no-ingresses", "The webhooks for Ingresses and Services."),
		group("gatewayAPI", "no-gateway-api", "The webhooks for the kinds of Gateway API."),
		group("openshiftRoutes", "no-openshift-routes", "The webhook for OpenShift Routes."),
		{
			"webhooks.addOns", "The webhooks for cert-manager Certificates and external-dns DNSEndpoints.",
			[]option{{value: false}, {value: true, components: []string{"host-kinds"}}}, false,
		},
		off("requirePolicy", "require-policy", "Keeps a replica without a policy unready. Apply your policy first."),
		off("noZones", "no-zones", "Allows nodes without the label topology.kubernetes.io/zone."),
		off("clientCertificate", "client-certificate", "Issues the client certificate of API servers, for clientAuth."),
		off("clientAuth", "client-auth", "Accepts reviews only from API servers. Add clientCertificate first."),
		off("backstop", "backstop", "Adds the permissions with which kubectl evergate renews exported native policies."),
		off("matchAllNamespaces", "match-all-namespaces", "Matches all namespaces that have not opted out."),
		off("preflight", "preflight", "Runs evergate preflight in the cluster, with a Job."),
		off("openshift", "openshift", "Adapts the Pods and the exempt namespaces to OpenShift."),
		off("prometheus", "prometheus", "Adds a monitor, alerts and a dashboard for the Prometheus operator and Grafana."),
	}
}

const noNamespace = `
$patch: delete
apiVersion: v1
kind: Namespace
metadata: {name: evergate-system}
`

// off returns a factor for a component that is off by default.
func off(name, component, sentence string) factor {
	options := []option{{value: false}, {value: true, components: []string{component}}}
	return factor{"components." + name, sentence, options, false}
}

// on returns a factor for a component that all overlays contain.
func on(name, component, sentence string) factor {
	options := []option{{value: true, components: []string{component}}, {value: false}}
	return factor{"components." + name, sentence, options, true}
}

// group returns a factor for a group of webhooks. The component switches it off.
func group(name, component, sentence string) factor {
	options := []option{{value: true}, {value: false, components: []string{component}}}
	return factor{"webhooks." + name, sentence, options, false}
}

// anyGroup reports whether a row has a group of webhooks. Without any, the wiring has no webhook to write to.
func anyGroup(factors []factor, row []int) bool {
	for f, o := range row {
		if strings.HasPrefix(factors[f].path, "webhooks.") && factors[f].options[o].value == true {
			return true
		}
	}
	return false
}
