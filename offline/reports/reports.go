// Package reports writes the findings of an audit to a cluster as reports of the policy working group, which GitOps
// tools and dashboards show. The API is openreports.io, or its predecessor wgpolicyk8s.io.
//
//	reports.go  findings → reports
//	write.go    reports → API server
package reports

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
)

const (
	// maxResults is the number of results for a namespace. A result has about 400 bytes, so they need 2 MB in etcd.
	maxResults = 5000
	// maxBytes is the size of the results in one report. A report must be below 500 KiB, because etcd limits a request to
	// 1.5 MiB, and an API server keeps several versions of it.
	maxBytes = 480 << 10

	product    = "evergate"
	managedBy  = "app.kubernetes.io/managed-by"
	hashKey    = "evergate.dev/hash"
	omittedKey = "evergate.dev/omitted-results"
)

// result is a finding in a report.
type result struct {
	Source    string    `json:"source"`
	Policy    string    `json:"policy"`
	Rule      string    `json:"rule"`
	Result    string    `json:"result"`
	Scored    bool      `json:"scored,omitempty"`
	Resources []subject `json:"resources"`
	Message   string    `json:"message"`
}

// subject is the object of a finding.
type subject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// report is a Report, a ClusterReport, or the same of the older API.
type report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace,omitempty"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Configuration *configuration `json:"configuration,omitempty"`
	Summary       summary        `json:"summary"`
	Results       []result       `json:"results"`
}

type configuration struct {
	Limits struct {
		MaxResults   int      `json:"maxResults"`
		StatusFilter []string `json:"statusFilter"`
	} `json:"limits"`
}

type summary struct {
	Pass  int `json:"pass"`
	Fail  int `json:"fail"`
	Warn  int `json:"warn"`
	Error int `json:"error"`
	Skip  int `json:"skip"`
}

// build returns the reports of each namespace, and of the cluster with the namespace "". They are sorted, and the same
// findings result in the same reports.
func build(r *offline.Report, a *api) []report {
	byNamespace := map[string][]result{}
	add := func(namespace string, of *offline.Result, id, message string, fails bool) {
		policy, rule, _ := strings.Cut(id, "/")
		found := result{
			Source: product, Policy: policy, Rule: rule, Result: "warn", Scored: fails,
			Resources: []subject{{of.Kind, of.Namespace, of.Name}}, Message: text.Truncate(message, admission.MaxSentence),
		}
		if fails {
			found.Result = "fail"
		}
		byNamespace[namespace] = append(byNamespace[namespace], found)
	}
	for i := range r.Results {
		of := &r.Results[i]
		for _, f := range of.Findings {
			fails := f.Effect == offline.Denial || f.Effect == offline.Duplicate || f.PodsDenied
			if !fails && f.Effect != offline.Warning {
				continue
			}
			if f.Redacted != "" {
				add("", of, f.ID, f.String(), fails)
				f.Message = f.Redacted
			}
			add(of.Namespace, of, f.ID, f.String(), fails)
		}
		for j := range of.Images {
			if image := &of.Images[j]; image.Effect == offline.Warning || image.Outside() {
				add(of.Namespace, of, image.ID(), image.String(), false)
			}
		}
	}
	var all []report
	for namespace, results := range byNamespace {
		slices.SortFunc(results, compare)
		all = append(all, shards(a, namespace, slices.CompactFunc(results, func(x, y result) bool {
			return compare(x, y) == 0
		}))...)
	}
	slices.SortFunc(all, func(x, y report) int {
		return cmp.Or(cmp.Compare(x.Metadata.Namespace, y.Metadata.Namespace), cmp.Compare(x.Metadata.Name, y.Metadata.Name))
	})
	return all
}

func compare(x, y result) int {
	p, q := &x.Resources[0], &y.Resources[0]
	return cmp.Or(
		cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Kind, q.Kind), cmp.Compare(p.Name, q.Name),
		cmp.Compare(x.Policy, y.Policy), cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Message, y.Message),
	)
}

// shards returns the reports of a namespace. The summary of the last one also counts the results beyond the limit.
func shards(a *api, namespace string, results []result) []report {
	var all []report
	size := maxBytes
	for i := range results {
		if i < maxResults {
			// It contains only strings. In etcd, <, > and & have six bytes (encoding/json in the API server).
			data, _ := json.Marshal(results[i], jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
			if size += len(data); size > maxBytes {
				all, size = append(all, newReport(a, namespace, len(all))), len(data)
			}
			last := &all[len(all)-1]
			last.Results = append(last.Results, results[i])
		}
		if s := &all[len(all)-1].Summary; results[i].Scored {
			s.Fail++
		} else {
			s.Warn++
		}
	}
	last := &all[len(all)-1]
	last.Metadata.Annotations[omittedKey] = strconv.Itoa(max(0, len(results)-maxResults))
	for i := range all {
		data, _ := json.Marshal(all[i], json.Deterministic(true))
		hash := sha256.Sum256(data)
		all[i].Metadata.Annotations[hashKey] = hex.EncodeToString(hash[:])
	}
	return all
}

// newReport returns a report without results. Reports of a namespace after the first one have a number in their name.
func newReport(a *api, namespace string, shard int) report {
	r := report{APIVersion: a.group + "/" + a.version, Kind: a.kind}
	r.Metadata.Name, r.Metadata.Namespace = product, namespace
	if shard > 0 {
		r.Metadata.Name += "-" + strconv.Itoa(shard+1)
	}
	if namespace == "" {
		r.Kind = "Cluster" + a.kind
	}
	r.Metadata.Labels = map[string]string{managedBy: product}
	r.Metadata.Annotations = map[string]string{}
	if a.limits {
		r.Configuration = &configuration{}
		r.Configuration.Limits.MaxResults = maxResults
		r.Configuration.Limits.StatusFilter = []string{"fail", "warn"}
	}
	return r
}
