package handlers

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

// tell reports a review in the same way as ServeHTTP.
func tell(e *endpoint, r *http.Request, d *admission.Decision, err error) {
	result := telemetry.Result{Decision: d}
	if err != nil {
		result = telemetry.Result{Failure: failureOf(err)}
	}
	observed := e.telemetry.Begin(r, time.Now(), time.Second)
	observed.Answer(result)
	observed.End()
}

func TestLog(t *testing.T) {
	request := object.Attributes{Operation: object.Create, Namespace: "team-a", Name: "shop", User: "jane"}
	tests := []struct {
		name  string
		level slog.Level
		v     *admission.Decision
		err   error
		want  string
	}{
		{name: "allowed", v: &admission.Decision{}},
		{
			name: "allowed, at level debug", level: slog.LevelDebug, v: &admission.Decision{},
			want: `level=DEBUG msg=allowed path=/fake uid=7 operation=CREATE namespace=team-a name=shop user=jane rules=[] ` +
				`policy=0123456789ab`,
		},
		{name: "found in mode audit", v: &admission.Decision{Findings: []policy.Finding{findingOf(policy.Audit)}}},
		{
			name: "denied",
			v: &admission.Decision{Findings: []policy.Finding{
				findingOf(policy.Enforce), findingOf(policy.Enforce), findingOf(policy.Audit, check("hosts.max")),
				findingOf(policy.Warn, check("tls.required")),
			}},
			want: `level=INFO msg=denied path=/fake uid=7 operation=CREATE namespace=team-a name=shop user=jane ` +
				`rules="[team-hosts/hosts.allowed team-hosts/tls.required]" policy=0123456789ab`,
		},
		{
			name: "warned of findings, as a dry run",
			v: &admission.Decision{
				Head: review.Head{DryRun: true}, Findings: []policy.Finding{findingOf(policy.Enforce, existed)}},
			want: `level=INFO msg=warned path=/fake uid=7 operation=CREATE namespace=team-a name=shop user=jane ` +
				`rules=[team-hosts/hosts.allowed] policy=0123456789ab dryRun=true`,
		},
		{
			name: "warned of images",
			v: &admission.Decision{Rewriting: policy.Rewriting{Images: []policy.ImageOutcome{
				image(policy.WouldRewrite, policy.Warn), image(policy.Malformed, 0),
			}}},
			want: `level=INFO msg=warned path=/fake uid=7 operation=CREATE namespace=team-a name=shop user=jane rules=[hub] ` +
				`policy=0123456789ab`,
		},
		{
			name: "not evaluated", v: &admission.Decision{Unevaluated: admission.Unevaluated{
				Why: "the object is too deep", Mode: policy.Enforce,
			}},
			want: `level=INFO msg=denied path=/fake uid=7 operation=CREATE namespace=team-a name=shop user=jane ` +
				`rules=[] policy=0123456789ab reason="the object is too deep"`,
		},
		{
			name: "not evaluated in mode warn", v: &admission.Decision{Unevaluated: admission.Unevaluated{
				Why: "the object is too deep", Mode: policy.Warn,
			}},
			want: `level=INFO msg=warned path=/fake uid=7 operation=CREATE namespace=team-a name=shop user=jane ` +
				`rules=[] policy=0123456789ab reason="the object is too deep"`,
		},
		{name: "not evaluated in mode audit",
			v: &admission.Decision{Unevaluated: admission.Unevaluated{Why: "the object is too deep", Mode: policy.Audit}}},
		{
			name: "not a review", err: &review.Error{Status: 400, Msg: "request.uid is missing"},
			want: `level=WARN msg="request could not be answered" path=/fake status=400 ` +
				`reason="request.uid is missing" remote=192.0.2.1:1234`,
		},
		{name: "overloaded", err: &httpError{status: 429, reason: "reviews_timed_out", msg: "overloaded"}},
		{
			name: "panic", err: &panicError{value: errors.New("nil map"), stack: []byte("goroutine 1"), uid: "7"},
			want: `level=ERROR msg="panic during a review" path=/fake uid=7 panic="nil map" stack="goroutine 1"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, "")
			f.Log = f.log.logger(tt.level)
			if tt.v != nil {
				tt.v.UID, tt.v.Attributes, tt.v.Policy = "7", request, testHash
			}
			s := newServer(f.Config)
			e := s.endpoint(admission.Webhook{Path: "/fake"})
			tell(e, httptest.NewRequest(http.MethodPost, "/fake", nil), tt.v, tt.err)
			want := tt.want
			if want != "" {
				want += "\n"
			}
			equal(t, want, f.log.String(), "log")
		})
	}
}

// An object that cannot be evaluated is logged with the same attributes as any other. In a bubble, no evaluation
// expires.
func TestLogOfUnevaluated(t *testing.T) { synctest.Test(t, testLogOfUnevaluated) }

func testLogOfUnevaluated(t *testing.T) {
	var entries strings.Builder
	for i := range 120 {
		fmt.Fprintf(&entries, "- {name: r%d, mode: enforce, externalIPs: {allowed: [0.0.0.0/0]}}\n", i)
	}
	f := newFixture(t, "services:\n"+entries.String())
	h := servingOf(f.Config)
	addresses := func(n int) string { return `{"spec":{"externalIPs":[` + strings.Repeat(`"10.0.0.1",`, n) + `"::1"]}}` }
	for content, tt := range map[string]struct{ set, object string }{
		"need more than 1000000 comparisons": {"", addresses(9999)},
		"spec.externalIPs[10000]: too large": {"", addresses(10000)},
		"more than 10000 levels deep":        {"", strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001)},
		"spec: want an object":               {"", `{"spec":5}`},
		"at most 20.0 MiB are evaluated":     {"", `{"a":"` + strings.Repeat("x", 21<<20) + `"}`},
		`the rule set \"none\"`:              {"/set/none", `{}`},
	} {
		before := len(f.log.String())
		body := reviewOf("", "services", "CREATE", tt.object, "")
		h.ServeHTTP(httptest.NewRecorder(), post(t.Context(), t, "/validate/services"+tt.set, body))
		line := f.log.String()[before:]
		const who = " uid=705ab4f5 operation=CREATE namespace=team-a name=shop user=jane rules=[] policy="
		if !strings.Contains(line, "msg=denied") || !strings.Contains(line, who) || !strings.Contains(line, content) {
			t.Errorf("%s: logged %q", content, line)
		}
	}
}

// A line of the log is never longer than 4 KiB, whatever the review contains.
func TestLogLinesAreShort(t *testing.T) {
	for _, c := range []string{"x", `"`, `\`, "\x00", "\xff", "\u2028", "ü"} {
		long := strings.Repeat(c, 10_000)
		var findings []policy.Finding
		for i := range 100 {
			finding := findingOf(policy.Enforce, check("loadBalancerSourceRanges.required"))
			finding.Rule = fmt.Sprintf("%063d", i)
			findings = append(findings, finding)
		}
		request := object.Attributes{Operation: object.Operation(long), Namespace: long, Name: long, User: long}
		for name, v := range map[string]*admission.Decision{
			"denied":        {Findings: findings},
			"not evaluated": {Unevaluated: admission.Unevaluated{Why: long, Mode: policy.Enforce}},
			"of a policy":   {InvalidPolicy: admission.InvalidPolicy{Mistakes: []string{long, long}}},
		} {
			v.UID, v.Attributes, v.Policy, v.DryRun = strings.Repeat("x", 128), request, testHash, true
			var logged counter
			f := newFixture(t, "")
			f.Log = slog.New(slog.NewJSONHandler(&logged, nil))
			e := newServer(f.Config).endpoint(admission.Webhook{Path: "/validate/services/status"})
			tell(e, httptest.NewRequest(http.MethodPost, "/fake", nil), v, nil)
			if logged == 0 || logged > 4<<10 {
				t.Errorf("%s, %q: a line of %d bytes", name, c, logged)
			}
		}
	}
}

// The log of many denials is throttled, and contains the number of dropped lines.
func TestLogOfAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "")
		e := newServer(f.Config).endpoint(admission.Webhook{Path: "/fake"})
		v := &admission.Decision{Findings: []policy.Finding{findingOf(policy.Enforce)}}
		deny := func() { tell(e, httptest.NewRequest(http.MethodPost, "/fake", nil), v, nil) }
		for range 1000 {
			deny()
		}
		if n := strings.Count(f.log.String(), "msg=denied"); n != 100 {
			t.Errorf("%d lines of 1000 simultaneous denials", n)
		}
		tell(e, httptest.NewRequest(http.MethodPost, "/fake", nil), nil, &panicError{value: "nil map"})
		if !strings.Contains(f.log.String(), `panic="nil map"`) {
			t.Error("the denials hide a panic")
		}
		elapse(time.Second)
		deny()
		line := `level=INFO msg="log lines were dropped" lines=900` + "\nlevel=INFO msg=denied "
		if !strings.Contains(f.log.String(), line) {
			t.Errorf("the log has no %q", line)
		}
		want := map[string]float64{"level=info": 900, "level=warn": 0, "level=error": 0}
		equal(t, want, f.series(t, "evergate_log_lines_dropped_total"), "dropped")
	})
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		want string
		v    *admission.Decision
		err  error
	}{
		{want: "allowed", v: &admission.Decision{}},
		{want: "allowed", v: &admission.Decision{Findings: []policy.Finding{findingOf(policy.Warn)}}},
		{want: "rewritten", v: &admission.Decision{Patch: newPatch()}},
		{want: "denied", v: &admission.Decision{Findings: []policy.Finding{findingOf(policy.Enforce)}}},
		{want: "unevaluated", v: &admission.Decision{Unevaluated: admission.Unevaluated{Why: "x", Mode: policy.Enforce}}},
		{want: "unevaluated", v: &admission.Decision{Unevaluated: admission.Unevaluated{Why: "x", Mode: policy.Audit}}},
		{want: "invalid", err: &review.Error{Status: 400}},
		{want: "invalid", err: &httpError{status: 413}},
		{want: "rejected", err: &httpError{status: 429, reason: "reviews_timed_out"}},
		{want: "rejected", err: &httpError{status: 503, reason: "client_gone"}},
		{want: "panicked", err: &panicError{}},
	}
	for _, tt := range tests {
		f := newFixture(t, "")
		e := newServer(f.Config).endpoint(admission.Webhook{Path: "/fake"})
		tell(e, httptest.NewRequest(http.MethodPost, "/fake", nil), tt.v, tt.err)
		counted := map[string]float64{}
		for series, n := range f.series(t, "evergate_reviews_total") {
			if n > 0 {
				counted[series] = n
			}
		}
		if want := map[string]float64{"operation=unknown outcome=" + tt.want + " path=/fake": 1}; !maps.Equal(counted, want) {
			t.Errorf("%+v, %v: counted as %v, want %v", tt.v, tt.err, counted, want)
		}
	}
}

// docs/metrics.md explains every label value for reviews, images and rejections.
func TestDocumentedWords(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	must(t, err)
	words := map[string][]string{
		"`outcome` | `evergate_reviews_total`": {
			"allowed", "rewritten", "denied", "unevaluated", telemetry.Invalid, telemetry.Rejected, telemetry.Panicked,
		},
	}
	d := &admission.Decision{}
	for o := range policy.Outcomes {
		d.Rewriting.Images = append(d.Rewriting.Images, policy.ImageOutcome{Outcome: o})
	}
	f := newFixture(t, "")
	e := newServer(f.Config).endpoint(admission.Webhook{Path: "/fake"})
	tell(e, httptest.NewRequest(http.MethodPost, "/fake", nil), d, nil)
	counted := f.series(t, "evergate_images_total")
	if len(counted) != int(policy.Outcomes) {
		t.Errorf("%d outcomes have %d words: %v", policy.Outcomes, len(counted), counted)
	}
	for series := range counted {
		_, word, _ := strings.Cut(series, "outcome=")
		if word == "" {
			t.Error("an outcome has no word")
		}
		words["`outcome` | `evergate_images_total`"] = append(words["`outcome` | `evergate_images_total`"], word)
	}
	for _, r := range admission.Webhooks() {
		words["`path` | `evergate_reviews_total`"] = append(words["`path` | `evergate_reviews_total`"], r.Path)
		if of, set, ok := strings.Cut(r.SetPath("{set}"), "/set/"); ok {
			words["`path` | `evergate_reviews_total`"] = append(words["`path` | `evergate_reviews_total`"], of, "/set/"+set)
		}
	}
	for kind := range (policy.Counts{}).All() {
		words["`kind` | `evergate_policy_entries`"] = append(words["`kind` | `evergate_policy_entries`"], kind)
	}
	reasons := []string{"client_gone", "body_bytes_evicted", "body_bytes_timed_out", "reviews_timed_out",
		"policy_reviews_timed_out"}
	words["`reason` | `evergate_reviews_rejected_total`"] = reasons
	for label, values := range words {
		_, row, _ := strings.Cut(string(page), "\n| "+label+" |")
		row, _, _ = strings.Cut(row, "\n")
		for _, v := range values {
			if !strings.Contains(row, "`"+v+"`") {
				t.Errorf("the row of %s does not explain %s", label, v)
			}
		}
	}
}
