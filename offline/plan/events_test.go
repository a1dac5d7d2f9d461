package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// auditEvent is an event of the API server's audit log. Test cases change parts of it.
const auditEvent = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"7c7ab0a6-0f0e-4c1e-8f61",` +
	`"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/a/pods?fieldManager=kubectl","verb":"create",` +
	`"user":{"username":"alice","groups":["team-a","system:authenticated"]},"sourceIPs":["10.0.0.1"],` +
	`"objectRef":{"resource":"pods","namespace":"a","name":"p","apiVersion":"v1"},` +
	`"responseStatus":{"metadata":{},"code":201},"requestObject":` + sentPod + `,"responseObject":` + storedPod +
	`,"requestReceivedTimestamp":"2026-11-24T10:00:00.000000Z","annotations":{"authorization.k8s.io/decision":"allow"}}`

const (
	sentPod   = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"app","image":"bad.example/sent:1"}]}}`
	storedPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"a"},"spec":{"containers":[{"name":"app","image":"bad.example/stored:1"}]}}`
)

func TestEvents(t *testing.T) {
	edit := func(pairs ...string) string {
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(auditEvent, pairs[i]) {
				t.Fatalf("no %s in the event", pairs[i])
			}
		}
		return strings.NewReplacer(pairs...).Replace(auditEvent)
	}
	const denied = ": allowed → denied"
	for _, tt := range []struct {
		name, input string
		object      string // and the image of its finding
		image       string
		skipped     string
		errors      []string
	}{
		{"create", auditEvent, "Pod a/p (stdin:1)" + denied + "; create by alice", "sent", "", nil},
		{"update", edit(`"create"`, `"update"`), "Pod a/p (stdin:1)" + denied + "; update by alice", "sent", "", nil},
		{"at level Request", edit(`"RequestResponse"`, `"Request"`, `,"responseObject":`+storedPod, ""),
			"Pod a/p (stdin:1)" + denied + "; create by alice", "sent", "", nil},
		{"patch", edit(`"create"`, `"patch"`), "Pod a/p (stdin:1)" + denied + "; patch by alice", "stored", "", nil},
		{"patch at level Request", edit(`"create"`, `"patch"`, `,"responseObject":`+storedPod, ""), "", "",
			"pods a/p (the log does not contain the patched object: its level must be RequestResponse)", nil},
		{"patch that failed", edit(`"create"`, `"patch"`, `"code":201`, `"code":403`, storedPod, `{"kind":"Status"}`), "", "",
			"pods a/p (the patch failed, so the log does not contain the patched object)", nil},
		{"failed", edit(`"code":201`, `"code":403`),
			"Pod a/p (stdin:1)" + denied + "; create by alice, failed with 403", "sent", "", nil},
		{"dry run", edit(`?fieldManager`, `?dryRun=All&fieldManager`),
			"Pod a/p (stdin:1)" + denied + "; create by alice, dry run", "sent", "", nil},
		{"impersonated", edit(`"sourceIPs"`, `"impersonatedUser":{"username":"bob"},"sourceIPs"`),
			"Pod a/p (stdin:1)" + denied + "; create by bob", "sent", "", nil},
		{"a node", edit(`"team-a"`, `"system:nodes"`), "", "",
			"pods a/p (the webhooks do not match requests of nodes and of the API server)", nil},
		{"the API server", edit(`"username":"alice"`, `"username":"system:apiserver"`), "", "",
			"pods a/p (the webhooks do not match requests of nodes and of the API server)", nil},
		{"a forged mirror Pod", edit(sentPod, strings.Replace(sentPod, `{"name":"p"`, `{"name":"p","annotations":{"kubernetes.io/config.mirror":"x"}`, 1)),
			"Pod a/p (stdin:1)" + denied + "; create by alice", "sent", "", nil},
		{"generated name", edit(`,"name":"p","apiVersion"`, `,"apiVersion"`, `"metadata":{"name":"p"}`, `"metadata":{"generateName":"p-"}`),
			"Pod a/p- (stdin:1)" + denied + "; create by alice", "sent", "", nil},
		{"level Metadata", edit(`"RequestResponse"`, `"Metadata"`, `"requestObject":`+sentPod+`,"responseObject":`+storedPod+`,`, ""), "", "",
			"pods a/p (the log does not contain the object: its level must be Request or above)", nil},
		{"another stage", edit(`"ResponseComplete"`, `"RequestReceived"`), "", "",
			"pods a/p (the event has another stage than ResponseComplete)", nil},
		{"reading", edit(`"create"`, `"get"`), "", "", "pods a/p (the request does not write an object)", nil},
		{"another resource", edit(`"resource":"pods"`, `"resource":"secrets"`), "", "", "secrets a/p (not validated)", nil},
		{"a resource of another group", edit(`"resource":"pods"`, `"resource":"pods","apiGroup":"metrics.k8s.io"`), "", "",
			"pods a/p (not validated)", nil},
		{"a subresource", edit(`"resource":"pods"`, `"resource":"pods","subresource":"ephemeralcontainers"`), "", "",
			"pods a/p (the request writes a subresource, and the log does not contain the old object)", nil},
		{"no event", sentPod, "", "", "", []string{"stdin:1: Pod p is not an event of an audit log: leave out --audit"}},
		{"an event of a cluster", `{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"}}`, "", "", "",
			[]string{"stdin:1: Event e is not an event of an audit log: leave out --audit"}},
		{"broken JSON between events", auditEvent + "\n" + auditEvent[:200] + "\n" + auditEvent,
			"Pod a/p (stdin:1)" + denied + "; create by alice", "sent", "",
			[]string{"stdin:2: document 2: not JSON: invalid character '\\n' in string (expecting non-control character)"}},
		{"a log that breaks off", auditEvent + "\n" + auditEvent[:200], "Pod a/p (stdin:1)" + denied + "; create by alice", "sent", "",
			[]string{"stdin:2: document 2: the JSON is truncated: it ends before the object does"}},
		{"a list of events", `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[` + auditEvent + `]}`,
			"Pod a/p (stdin:1: item 1)" + denied + "; create by alice", "sent", "", nil},
		{"an event of wrong types", edit(`"code":201`, `"code":"201"`), "", "", "",
			[]string{"stdin:1: responseStatus.code is a string, but must be a number"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := planOf(Options{New: mustLoad(t, denies), Events: true, Limit: 5}, tt.input)
			var object, skipped string
			for i := range r.Objects {
				object += r.Objects[i].String()
				if f := r.Objects[i].Findings; len(f) != 1 || !strings.Contains(f[0].Message, "bad.example/"+tt.image+":1") {
					t.Errorf("another object was evaluated: %+v", f)
				}
			}
			skipped = strings.TrimPrefix(strings.Join(r.Lines(), "\n"), "skipped: ")
			for what, diff := range map[string]string{
				"object": cmp.Diff(tt.object, object), "skipped": cmp.Diff(tt.skipped, skipped), "errors": cmp.Diff(tt.errors, r.Errors),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// Rules that match by user apply to the user of each event.
func TestEventsByUser(t *testing.T) {
	const rule = "ingresses: [{name: r, mode: enforce, exclude: {users: [alice], groups: [admins]}, tls: {required: true}}]\n"
	ingress := func(user string) string {
		return strings.NewReplacer(
			`"username":"alice"`,
			`"username":"`+user+`"`,
			`"resource":"pods"`,
			`"resource":"ingresses","apiGroup":"networking.k8s.io"`,
			sentPod,
			`{"kind":"Ingress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"p"},"spec":{"rules":[{"host":"h.example"}]}}`,
		).Replace(auditEvent)
	}
	r := planOf(Options{New: mustLoad(t, rule), Events: true}, ingress("alice")+ingress("bob")+ingress("alice"))
	if r.Summary.Validated != 3 || r.Summary.Changes.Of(NewlyDenied) != 1 {
		t.Errorf("%+v %v", r.Summary, r.Errors)
	}
}
