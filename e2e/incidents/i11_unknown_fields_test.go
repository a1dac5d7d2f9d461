package incidents

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// I11: a webhook decoded Pods into types that were older than the API server's and wrote them back. Fields that those
// types did not have were lost.

func TestI11(t *testing.T) {
	try(t, incident{
		id: "I11", what: "a Pod with fields of many kinds and ages is created",
		guard:   "a patch replaces images and nothing else",
		happen:  keepFields,
		lacking: "a webhook that writes back only the fields that its types have", without: instead,
	})
}

// richPod has fields that webhooks have lost: recent fields, and rarely used fields.
const richPod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rich", "labels": {"a": "b"}}, "spec": {
"schedulingGates": [{"name": "evergate.e2e/gate"}],
"resources": {"requests": {"cpu": "1m"}},
"hostUsers": true, "setHostnameAsFQDN": false,
"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
  "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["pod-template-hash"], "nodeTaintsPolicy": "Honor"}],
"initContainers": [{"name": "sidecar", "image": "` + written + `", "restartPolicy": "Always"}],
"containers": [{"name": "c", "image": "` + written + `",
  "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
  "resources": {"requests": {"cpu": "1m"}, "limits": {"memory": "64Mi"}},
  "startupProbe": {"grpc": {"port": 1, "service": "s"}, "terminationGracePeriodSeconds": 3},
  "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
  "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}},
  "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": true, "recursiveReadOnly": "IfPossible"}],
  "terminationMessagePolicy": "FallbackToLogsOnError"}],
"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}}]}}`

// keepFields creates the same Pod with and without webhooks. The results must be the same, except for the images.
func keepFields(t *testing.T, l *lab, control bool) outcome {
	create := func(ns string) map[string]any {
		out := l.Kubectl(t, richPod, "-n", ns, "create", "--dry-run=server", "-o", "json", "-f", "-")
		var p map[string]any
		must(t, json.Unmarshal([]byte(out), &p))
		return p["spec"].(map[string]any)
	}
	was, is := create(plain), create(asked(control))
	var o outcome
	for _, list := range []string{"initContainers", "containers"} {
		for i, c := range is[list].([]any) {
			c := c.(map[string]any)
			if !control && c["image"] != mirrored {
				o.breaks("the image of %s %d is %v", list, i, c["image"])
			}
			c["image"] = written
		}
	}
	// The token volume of the service account has a different name in each Pod.
	for _, spec := range []map[string]any{was, is} {
		dropToken(spec)
	}
	if diff := cmp.Diff(was, is); diff != "" {
		o.breaks("but for its images the Pod is not as it was written (-written +admitted): %s", diff)
	} else {
		o.figure("fields lost", "none")
	}
	return o
}

// dropToken removes the volume that the API server adds to each Pod under a random name.
func dropToken(spec map[string]any) {
	isToken := func(v any) bool {
		name, _ := v.(map[string]any)["name"].(string)
		return len(name) > 15 && name[:15] == "kube-api-access"
	}
	drop := func(in map[string]any, field string) {
		list, _ := in[field].([]any)
		var kept []any
		for _, v := range list {
			if !isToken(v) {
				kept = append(kept, v)
			}
		}
		in[field] = kept
	}
	drop(spec, "volumes")
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range spec[field].([]any) {
			drop(c.(map[string]any), "volumeMounts")
		}
	}
}
