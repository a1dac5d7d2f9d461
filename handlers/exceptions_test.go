package handlers

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// The time of a review is the time of the clock. An exception ends while the process runs, without a reload. Until
// then, the silenced findings are counted, and are in the audit annotations.
func TestExceptionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, `
mirrors:
- {name: hub, sources: [docker.io], mirror: mirror.corp.example/docker.io, mode: enforce, exclude: {namespaces: [team-a], until: 2000-01-01}}
ingresses:
- {name: team-hosts, mode: enforce, hosts: {allowed: []}}
exceptions:
- {name: legacy, rules: [team-hosts], match: {namespaces: [team-a]}, until: 2000-01-01, reason: TICKET-1}
`) // the clock of a bubble starts at the beginning of that day
		serving, _ := New(f.Config)
		review := func(path, body string) wireResponse {
			w := httptest.NewRecorder()
			serving.ServeHTTP(w, post(t.Context(), t, path, body))
			return decodeWire(t, w.Body.String()).Response
		}
		ingress := reviewOf("networking.k8s.io", "ingresses", "CREATE", ingressOf("a.example"), "")
		update := reviewOf("networking.k8s.io", "ingresses", "UPDATE", ingressOf("a.example"), ingressOf("a.example"))
		pod := reviewOf("", "pods", "CREATE", podOf("nginx:1.25"), "")

		time.Sleep(24*time.Hour - time.Nanosecond)
		got := review("/validate/ingresses", ingress)
		const want = "team-hosts/hosts.allowed (enforce, exempt by legacy until 2000-01-01)"
		if !got.Allowed || got.Warnings != nil || got.AuditAnnotations["findings"] != want {
			t.Errorf("before the end: %+v", got)
		}
		if got := review("/mutate/pods", pod); got.Patch != nil {
			t.Errorf("before the end it is rewritten: %s", got.Patch)
		}
		time.Sleep(time.Nanosecond)
		if got := review("/validate/ingresses", ingress); got.Allowed {
			t.Errorf("after the end: %+v", got)
		}
		if got := review("/validate/ingresses", update); !got.Allowed || len(got.Warnings) != 1 {
			t.Errorf("an update after the end: %+v", got)
		}
		if got := review("/mutate/pods", pod); got.Patch == nil {
			t.Errorf("after the end it is not rewritten: %+v", got)
		}
		counted := map[string]float64{
			"check=hosts.allowed existed=false mode=exempt rule=team-hosts":  1,
			"check=hosts.allowed existed=false mode=enforce rule=team-hosts": 1,
			"check=hosts.allowed existed=true mode=enforce rule=team-hosts":  1,
		}
		equal(t, counted, f.counted(t, "evergate_findings_total"), "counted")
	})
}
