package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/evergate/evergate/review/reviewtest"
)

// mirror is the registry of all rewritten images in the measured Pods.
const mirror = "mirror.corp.example"

// review is a line of the table.
type review struct {
	name  string // as in docs/performance.md
	path  string
	limit float64 // of the ratio to the floor
	hosts bool    // also measured with many owned hosts
	body  []byte
	uid   int // its position in body
}

const typicalPod = "typical Pod, 5 containers"

// reviews returns the reviews whose costs are measured. Their limits are about a tenth above the ratios on an Intel
// Xeon in November 2026. The ratio depends on the processor: the revision that had 1.46 for a typical Pod on an AMD
// EPYC had 1.92 there.
func reviews() []*review {
	lines := map[string]review{
		"pod-small":    {name: "small Pod, images rewritten", path: "/mutate/pods", limit: 2.4},
		"pod-typical":  {name: typicalPod, path: "/mutate/pods", limit: 2.4},
		"pod-large":    {name: "large Pod, 20 containers", path: "/mutate/pods", limit: 2.4},
		"service":      {name: "Service", path: "/validate/services", limit: 2.4},
		"ingress-10":   {name: "Ingress, 10 hosts", path: "/validate/ingresses", limit: 2.4, hosts: true},
		"httproute-16": {name: "HTTPRoute, 16 hosts", path: "/validate/routes", limit: 2.4, hosts: true},
		"deployment-5": {name: "Deployment, 5 containers", path: "/validate/workloads", limit: 2.4},
		"ingress-500":  {name: "Ingress, 500 hosts", path: "/validate/ingresses", limit: 4.4},
	}
	var all []*review
	for _, b := range reviewtest.Bodies() {
		r := lines[b.Name]
		r.body, r.uid = b.Data, bytes.Index(b.Data, []byte(reviewtest.UID))
		all = append(all, &r)
	}
	return all
}

// title returns the name and the size of the body.
func (r *review) title() string {
	return fmt.Sprintf("%s (%s KB)", r.name, strings.TrimSuffix(fmt.Sprintf("%.1f", float64(len(r.body))/1000), ".0"))
}

// weight returns about how many small reviews cost as much as this one. With these weights, all turns take equally
// long.
func (r *review) weight() int64 { return max(1, int64(len(r.body))/15_000) }

// number writes the uid of the n-th review into a body and returns it.
func (r *review) number(body []byte, n int64) (uid []byte) {
	uid = body[r.uid : r.uid+len(reviewtest.UID)]
	copy(uid, fmt.Sprintf("%08x-6393-11e8-b7cc-%012x", n>>32, n&(1<<32-1)))
	return uid
}

// verify checks a response as kube-apiserver does: the protocol, the uid, and that the patch can be applied. It also
// checks that the response is right: every image of the patched Pod comes from the mirror, and everything else is
// unchanged.
func (r *review) verify(uid, answer []byte) error {
	var a struct {
		APIVersion, Kind string
		Response         struct {
			UID              string
			Allowed          bool
			Patch            []byte
			PatchType        string
			Warnings         []string
			AuditAnnotations map[string]string
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return fmt.Errorf("the response is not JSON: %w", err)
	}
	switch {
	case a.APIVersion != "admission.k8s.io/v1" || a.Kind != "AdmissionReview":
		return fmt.Errorf("the response is a %s %s", a.APIVersion, a.Kind)
	case a.Response.UID != string(uid):
		return fmt.Errorf("the response has the uid %q, not %q", a.Response.UID, uid)
	case !a.Response.Allowed || a.Response.Warnings != nil:
		return fmt.Errorf("not allowed without warnings: %s", answer)
	case a.Response.AuditAnnotations["policy"] == "":
		return errors.New("the response does not contain the hash of the policy")
	case r.path != "/mutate/pods" && a.Response.Patch != nil:
		return errors.New("the response has a patch")
	case r.path != "/mutate/pods":
		return nil
	case a.Response.PatchType != "JSONPatch":
		return fmt.Errorf("the patch is of type %q", a.Response.PatchType)
	}
	return r.verifyPatch(a.Response.Patch)
}

// jsonObject is a part of a Kubernetes object.
type jsonObject = map[string]any

func (r *review) verifyPatch(text []byte) error {
	var body struct {
		Request struct{ Object json.RawMessage }
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return err
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return err
	}
	patched, err := patch.Apply(body.Request.Object)
	if err != nil {
		return err
	}
	var got, want jsonObject
	if err := errors.Join(json.Unmarshal(patched, &got), json.Unmarshal(body.Request.Object, &want)); err != nil {
		return err
	}
	if err := rewrite(want); err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the patched Pod is not the Pod with rewritten images and a record of them: %s", text)
	}
	return nil
}

// rewrite changes a Pod in the way in which the patch must change it. All its images must be full references.
func rewrite(pod jsonObject) error {
	spec, _ := pod["spec"].(jsonObject)
	containers, _ := spec["containers"].([]any)
	originals := map[string]string{}
	for _, c := range containers {
		c, _ := c.(jsonObject)
		image, _ := c["image"].(string)
		originals[fmt.Sprintf("containers/%s", c["name"])] = image
		c["image"] = mirror + "/" + image
	}
	record, err := json.Marshal(originals)
	if err != nil {
		return err
	}
	meta, _ := pod["metadata"].(jsonObject)
	annotations, ok := meta["annotations"].(jsonObject)
	if !ok {
		annotations = jsonObject{}
		meta["annotations"] = annotations
	}
	annotations["evergate.dev/original-images"] = string(record)
	return nil
}
