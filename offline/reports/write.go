package reports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/apiserver"
)

// api is an API of reports.
type api struct {
	group, version, kind, resource string
	limits                         bool // it has configuration.limits; a server-side apply with an unknown field fails
}

// apis returns the APIs, the preferred one first.
func apis() []api {
	return []api{
		{"openreports.io", "v1alpha1", "Report", "reports", true},
		{"wgpolicyk8s.io", "v1alpha2", "PolicyReport", "policyreports", false}, // in Kyverno 1.12 without the field
	}
}

// Groups returns the API groups that have reports, the preferred one first.
func Groups() []string {
	var groups []string
	for _, a := range apis() {
		groups = append(groups, a.group)
	}
	return groups
}

// errNone contains the command of https://github.com/openreports/reports-api/blob/main/README.md.
var errNone = errors.New("the cluster does not serve reports: run kubectl apply -f " +
	"https://raw.githubusercontent.com/openreports/reports-api/refs/heads/main/config/install.yaml")

// find returns the preferred API that the cluster serves. If group is not empty, it returns the API of the group.
func find(ctx context.Context, c *apiserver.Client, group string) (*api, error) {
	for _, a := range apis() {
		if group != "" && group != a.group {
			continue
		}
		const maxList = 1 << 20 // the list of four resources has 2 KiB
		_, err := c.Get(ctx, "/apis/"+a.group+"/"+a.version, maxList)
		if err == nil {
			return &a, nil
		}
		if apiserver.Answered(err) != http.StatusNotFound {
			return nil, err
		}
	}
	return nil, errNone
}

// Counts are the numbers of reports that a run has written, removed and left unchanged.
type Counts struct{ Written, Removed, Unchanged int }

func (c Counts) String() string {
	return fmt.Sprintf("reports: %s written, %s removed, %s unchanged", text.Thousands(c.Written),
		text.Thousands(c.Removed), text.Thousands(c.Unchanged))
}

// Write writes the findings of an audit as reports of an API group. If group is empty, it chooses a group that the
// cluster serves. It only writes reports that differ from the reports of the previous run. If the audit could not read
// all objects, it does not remove reports.
func Write(ctx context.Context, c *apiserver.Client, group string, r *offline.Report) (n Counts, failed error) {
	a, err := find(ctx, c, group)
	if err != nil {
		return n, err
	}
	old, err := a.hashes(ctx, c)
	if err != nil {
		return n, err
	}
	for _, report := range build(r, a) {
		path := a.path(report.Metadata.Namespace, report.Metadata.Name)
		hash, exists := old[path]
		delete(old, path)
		if exists && hash == report.Metadata.Annotations[hashKey] {
			n.Unchanged++
			continue
		}
		data, err := json.Marshal(report, json.Deterministic(true))
		if err == nil {
			err = c.Apply(ctx, path, data)
		}
		switch {
		case err == nil:
			n.Written++
		case apiserver.Answered(err) == 0:
			return n, fmt.Errorf("write %s: %w", path, err)
		default: // its namespace may have been deleted
			failed = cmp.Or(failed, fmt.Errorf("write %s: %w", path, err))
		}
	}
	for path := range old {
		if r.Summary.Errors > 0 {
			n.Unchanged++
			continue
		}
		if err := c.Delete(ctx, path); err != nil && apiserver.Answered(err) != http.StatusNotFound {
			return n, fmt.Errorf("remove %s: %w", path, err)
		}
		n.Removed++
	}
	return n, failed
}

// path returns the path of a report. An empty namespace means the cluster.
func (a *api) path(namespace, name string) string {
	path := "/apis/" + a.group + "/" + a.version
	if namespace == "" {
		return path + "/cluster" + a.resource + "/" + name
	}
	return path + "/namespaces/" + namespace + "/" + a.resource + "/" + name
}

// hashes returns the hashes of all reports of earlier runs, by their path.
func (a *api) hashes(ctx context.Context, c *apiserver.Client) (map[string]string, error) {
	// 10 reports of 500 KiB are a page of 5 MB.
	query := url.Values{"labelSelector": {managedBy + "=" + product}, "limit": {"10"}}
	hashes := map[string]string{}
	for _, resource := range []string{"cluster" + a.resource, a.resource} {
		for object, err := range c.List(ctx, "/apis/"+a.group+"/"+a.version+"/"+resource, query) {
			var read struct {
				Metadata struct {
					Annotations map[string]string `json:"annotations"`
				} `json:"metadata"`
			}
			if err == nil {
				err = json.Unmarshal(object.JSON, &read)
			}
			if err != nil {
				return nil, fmt.Errorf("list %s.%s: %w", resource, a.group, err)
			}
			hashes[a.path(object.Namespace, object.Name)] = read.Metadata.Annotations[hashKey]
		}
	}
	return hashes, nil
}
