package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evergate/evergate/review/reviewtest"
)

// mirror is the registry of all rewritten images in the measured Pods.
const mirror = "mirror.corp.example"

// review is a line of the table.
type review struct {
	name  string // as in docs/performance.md
	path  string
	limit float64 // of the ratio to the floor
	hosts bool    // also measured with the policy owned
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
func (r *review) weight() int { return max(1, len(r.body)/15_000) }

// number writes the uid of the n-th review into a body and returns it.
func (r *review) number(body []byte, n int64) (uid []byte) {
	uid = body[r.uid : r.uid+len(reviewtest.UID)]
	copy(uid, fmt.Sprintf("%08x-6393-11e8-b7cc-%012x", n>>32, n&(1<<32-1)))
	return uid
}

// verify checks a response of evergate with the uid of package reviewtest: it allows the review without warnings, and
// its patch rewrites every image if the path is for that.
func (r *review) verify(answer []byte) error {
	var review struct {
		Response struct {
			UID              string
			Allowed          bool
			Patch            []byte
			Warnings         []string
			AuditAnnotations map[string]string
		}
	}
	err := json.Unmarshal(answer, &review)
	images := 0
	if r.path == "/mutate/pods" {
		images = bytes.Count(r.body, []byte(`"image":"`))
	}
	a := review.Response
	if err != nil || a.UID != reviewtest.UID || !a.Allowed || a.Warnings != nil || a.AuditAnnotations["policy"] == "" ||
		bytes.Count(a.Patch, []byte(`"`+mirror+"/")) != images {
		return fmt.Errorf("not allowed without warnings, or not %d images are rewritten: %s", images, answer)
	}
	return nil
}
