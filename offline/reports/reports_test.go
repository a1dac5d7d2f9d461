package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/apiserver"
)

// cluster is an API server that stores reports. Its methods do not run concurrently, because Write sends one request
// after another.
type cluster struct {
	*testing.T
	serves  []string          // groups
	stored  map[string]string // reports as JSON by their path
	changes []string          // requests that changed something
	bytes   int               // that were written
	deleted string            // namespace that does not exist any more
}

func newCluster(t *testing.T, serves ...string) *cluster {
	return &cluster{T: t, serves: serves, stored: map[string]string{}}
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	group, served, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/apis/"), "/")
	_, resource, isList := strings.Cut(served, "/")
	switch _, exists := c.stored[r.URL.Path]; {
	case !slices.Contains(c.serves, group), r.Method == http.MethodDelete && !exists,
		c.deleted != "" && strings.Contains(r.URL.Path, "/namespaces/"+c.deleted+"/"):
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet && isList:
		c.list(w, r, resource)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `{"kind":"APIResourceList"}`)
	case r.Method == http.MethodDelete:
		delete(c.stored, r.URL.Path)
		c.changes = append(c.changes, "delete "+r.URL.Path)
	default:
		data, err := io.ReadAll(r.Body)
		must(c.T, err)
		if r.Method != http.MethodPatch || r.Header.Get("Content-Type") != "application/apply-patch+yaml" ||
			r.URL.Query().Get("fieldManager") == "" {
			c.Errorf("%s %s: not a server-side apply", r.Method, r.URL)
		}
		c.conforms(group, data)
		if inEtcd := len(data) + 5*strings.Count(string(data), "<"); inEtcd >= 500<<10 { // as \u003c
			c.Errorf("%s has %d bytes", r.URL.Path, inEtcd)
		}
		c.stored[r.URL.Path] = string(data)
		c.changes, c.bytes = append(c.changes, "apply "+r.URL.Path), c.bytes+len(data)
		w.WriteHeader(http.StatusCreated)
	}
}

// list writes a page with one report.
func (c *cluster) list(w http.ResponseWriter, r *http.Request, resource string) {
	var paths []string
	for path := range c.stored {
		if strings.Contains(path, "/"+resource+"/") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	if r.URL.Query().Get("labelSelector") != managedBy+"="+product {
		c.Errorf("lists all reports: %s", r.URL)
	}
	page, next := 0, ""
	if token := r.URL.Query().Get("continue"); token != "" {
		page, _ = strconv.Atoi(token)
	}
	var items string
	if page < len(paths) {
		items = c.stored[paths[page]]
	}
	if page+1 < len(paths) {
		next = strconv.Itoa(page + 1)
	}
	_, _ = fmt.Fprintf(w, `{"kind":"ReportList","apiVersion":"a/v1","metadata":{"continue":%q},"items":[%s]}`, next, items)
}

// conforms checks a report by the published schema of its group. A server-side apply fails for an unknown field.
func (c *cluster) conforms(group string, data []byte) {
	text, err := os.ReadFile("testdata/" + group + ".yaml")
	must(c.T, err)
	var schema map[string]any
	must(c.T, yaml.Unmarshal(text, &schema))
	var value any
	must(c.T, json.Unmarshal(data, &value))
	for _, problem := range check(schema, value, group) {
		c.Error(problem)
	}
}

func check(schema map[string]any, value any, at string) (problems []string) {
	is := map[string]string{"string": "string", "float64": "integer", "bool": "boolean", "[]interface {}": "array"}
	if got := is[fmt.Sprintf("%T", value)]; got != "" && got != schema["type"] {
		return []string{fmt.Sprintf("%s is a %s, not a %v", at, got, schema["type"])}
	}
	switch v := value.(type) {
	case map[string]any:
		known, ok := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, field := range required {
			if _, ok := v[field.(string)]; !ok {
				problems = append(problems, fmt.Sprintf("%s.%s is missing", at, field))
			}
		}
		for field, inner := range v {
			if of, isKnown := known[field].(map[string]any); isKnown {
				problems = append(problems, check(of, inner, at+"."+field)...)
			} else if ok {
				problems = append(problems, at+"."+field+" is not in the schema")
			}
		}
	case []any:
		for i, inner := range v {
			problems = append(problems, check(schema["items"].(map[string]any), inner, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case string:
		if words, ok := schema["enum"].([]any); ok && !slices.Contains(words, any(v)) {
			problems = append(problems, fmt.Sprintf("%s: unknown word %s", at, v))
		}
	}
	return problems
}

// write writes a report and returns the counts, or the error.
func (c *cluster) write(group string, r *offline.Report) string {
	c.Helper()
	server := httptest.NewServer(c)
	defer server.Close()
	client, err := apiserver.New(server.URL, "")
	must(c.T, err)
	c.changes, c.bytes = nil, 0
	n, err := Write(c.Context(), client, group, r)
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(n.String(), "reports: ")
}

// expect checks the counts of a run.
func (c *cluster) expect(group string, r *offline.Report, want string) {
	c.Helper()
	if got := c.write(group, r); got != want {
		c.Errorf("got %s, want %s", got, want)
	}
}

// audit returns the report of an audit, with an object of each namespace and its findings.
func audit(findings map[string][]offline.Finding) *offline.Report {
	r := &offline.Report{AsExisting: true}
	for namespace, of := range findings {
		r.Results = append(r.Results, offline.Result{Kind: "Ingress", Namespace: namespace, Name: "web", Findings: of})
	}
	return r
}

func finding(effect offline.Effect, id, message string) offline.Finding {
	return offline.Finding{Effect: effect, ID: id, Path: "spec", Message: message}
}

// An unchanged second run writes nothing. Reports whose findings are gone are removed, but only after a complete run.
func TestWrite(t *testing.T) {
	hidden := finding(offline.Duplicate, "one-host/unique", "claimed by b/secret")
	hidden.Redacted = "claimed by another"
	before := map[string][]offline.Finding{
		"a": {
			hidden, finding(offline.Warning, "tags/images", "no tag"), finding(offline.Audited, "x/y", "no"),
			finding(offline.Exempt, "x/y", "no"), finding(offline.Denial, "hosts/hosts.allowed", "no host"),
			finding(offline.Warning, "tags/images", "no tag"),
		},
		"b": {finding(offline.Denial, "hosts/hosts.allowed", "no host")},
	}
	for _, a := range apis() {
		c := newCluster(t, a.group)
		c.expect("", audit(before), "3 written, 0 removed, 0 unchanged")
		first := c.bytes
		c.expect("", audit(before), "0 written, 0 removed, 3 unchanged")
		t.Logf("%s: the first run writes %d bytes, and the second run %d", a.group, first, c.bytes)
		var got report
		must(t, json.Unmarshal([]byte(c.stored[a.path("a", product)]), &got))
		var lines []string
		for _, r := range got.Results {
			lines = append(lines, fmt.Sprintf("%s %s %s %v %s", r.Result, r.Policy, r.Rule, r.Resources, r.Message))
		}
		if diff := cmp.Diff([]string{
			"fail hosts hosts.allowed [{Ingress a web}] hosts/hosts.allowed: spec: no host",
			"fail one-host unique [{Ingress a web}] one-host/unique: spec: claimed by another",
			"warn tags images [{Ingress a web}] tags/images: spec: no tag",
		}, lines); diff != "" || got.Summary != (summary{Fail: 2, Warn: 1}) || got.Metadata.Labels[managedBy] != product {
			t.Errorf("%s\n%+v", diff, got)
		}
		if all := c.stored[a.path("", product)]; !strings.Contains(all, "b/secret") || strings.Contains(all, "no host") {
			t.Error(all)
		}

		incomplete := audit(map[string][]offline.Finding{"a": before["a"][:2]})
		incomplete.Summary.Errors = 1
		c.expect("", incomplete, "1 written, 0 removed, 2 unchanged")
		incomplete.Summary.Errors = 0
		c.expect("", incomplete, "0 written, 1 removed, 2 unchanged")
		if diff := cmp.Diff([]string{"delete " + a.path("b", product)}, c.changes); diff != "" {
			t.Error(diff)
		}
		c.expect("", audit(nil), "0 written, 2 removed, 0 unchanged")
	}
}

// Only one group gets reports. A namespace that is deleted during the run does not keep others from getting reports.
func TestGroups(t *testing.T) {
	findings := audit(map[string][]offline.Finding{
		"a": {finding(offline.Warning, "x/y", "no")}, "b": {finding(offline.Warning, "x/y", "no")},
	})
	both := newCluster(t, Groups()...)
	both.expect("", findings, "2 written, 0 removed, 0 unchanged")
	if !strings.Contains(both.changes[0], "/openreports.io/") {
		t.Error(both.changes)
	}
	both.expect("wgpolicyk8s.io", findings, "2 written, 0 removed, 0 unchanged")
	if !strings.Contains(both.changes[0], "/wgpolicyk8s.io/v1alpha2/namespaces/a/policyreports/evergate") {
		t.Error(both.changes)
	}
	newCluster(t).expect("", findings, errNone.Error())
	newCluster(t, "wgpolicyk8s.io").expect("openreports.io", findings, errNone.Error())
	gone := newCluster(t, "openreports.io")
	gone.deleted = "a"
	if got := gone.write("", findings); !strings.HasPrefix(got, "write /apis/openreports.io/v1alpha1/namespaces/a/") ||
		len(gone.stored) != 1 {
		t.Error(got, gone.stored)
	}
}

// The reports of a namespace are smaller than 500 KiB, and count the results beyond the limit.
func TestShards(t *testing.T) {
	var many []offline.Finding
	for i := range maxResults + 100 {
		many = append(many, finding(offline.Denial, "x/y", fmt.Sprint(i)+strings.Repeat("<", 300)))
	}
	c := newCluster(t, "openreports.io")
	c.write("", audit(map[string][]offline.Finding{"a": many}))
	results, fails, omitted := 0, 0, 0
	for _, data := range c.stored {
		var r report
		must(t, json.Unmarshal([]byte(data), &r))
		more, _ := strconv.Atoi(r.Metadata.Annotations[omittedKey])
		results, fails, omitted = results+len(r.Results), fails+r.Summary.Fail, omitted+more
	}
	if len(c.stored) < 3 || results != maxResults || fails != len(many) || omitted != 100 {
		t.Errorf("%d reports, %d results, %d failures, %d omitted", len(c.stored), results, fails, omitted)
	}
	slices.Reverse(many)
	c.expect("", audit(map[string][]offline.Finding{"a": many}), fmt.Sprintf("0 written, 0 removed, %d unchanged",
		len(c.stored)))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
