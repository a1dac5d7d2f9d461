package handlers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

const policyHead = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"

func comments(n int) string { return strings.Repeat("#", n) }

// A policy above the size limit of reviews is denied with a clear message, and a policy at the limit is not.
func TestPolicyGuardLimits(t *testing.T) {
	const mib = 1 << 20
	many := func(n int) string {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf("%03d.yaml", i), "")
		}
		return configMapOf("data", keys...)
	}
	binary := func(n int) string {
		return configMapOf("binaryData", "a.yaml", base64.StdEncoding.EncodeToString([]byte(comments(n))))
	}
	pad := func(object string, n int) string { // to a body of n bytes
		body := reviewOf("", "configmaps", "UPDATE", object, `{"data":{"a.yaml":""}}`)
		return reviewOf("", "configmaps", "UPDATE", object, `{"data":{"a.yaml":"`+comments(n-len(body))+`"}}`)
	}
	create := func(object string) string { return reviewOf("", "configmaps", "CREATE", object, "") }
	small := configMapOf("data", "a.yaml", policyHead+"allowEmpty: true\n")
	const empty = "this policy is empty, there is no entry in it: write allowEmpty: true in a document to switch " +
		"everything off "
	for _, tt := range []struct {
		name, body string
		denial     string // up to the policy's hash; empty: allowed
	}{
		{"text at the limit", create(configMapOf("data", "a.yaml", comments(mib/2), "b.yaml", comments(mib/2))), empty},
		{"text beyond", create(configMapOf("data", "a.yaml", comments(mib/2), "b.yaml", comments(mib/2+1))),
			"data[b.yaml]: the policy has more than 1 MiB of text, which is the limit "},
		{"binary text at the limit", create(binary(mib)), empty},
		{"binary text beyond", create(binary(mib + 1)),
			"binaryData[a.yaml]: the policy has more than 1 MiB of text, which is the limit "},
		{"text that is escaped", create(configMapOf("data", "a.yaml", strings.Repeat("#\n", mib/2))), empty},
		{"other keys do not count", create(configMapOf("data", "a.txt", comments(2*mib), "a.yaml", "")), empty},
		{"files at the limit", create(many(256)), empty},
		{"files beyond", create(many(257)), "data[256.yaml]: the policy has more than 256 files, which is the limit "},
		{"a long key", create(configMapOf("data", strings.Repeat("x", 249)+".yml", "")), empty},
		{
			"a longer key", create(configMapOf("data", strings.Repeat("x", 250)+".yml", "")),
			"data." + strings.Repeat("x", 57) +
				"…: is not the name of a key: at most 253 letters, digits, dots, hyphens and underscores ",
		},
		{
			"a key of two lines", create(configMapOf("data", "a\nb.yml", "")),
			"data[a b.yml]: is not the name of a key: at most 253 letters, digits, dots, hyphens and underscores ",
		},
		{"an old object is skipped", reviewOf("", "configmaps", "UPDATE", small,
			`{"data":{"a.yaml":1,"b.yaml":"`+comments(2*mib)+`"}}`), ""},
		{"a body at the limit", pad(small, 6*mib), ""},
		{"a body beyond", pad(small, 6*mib+1),
			"the review of this object has 6.0 MiB, at most 6.0 MiB are evaluated: make the object smaller "},
		{
			"12,000 regular expressions of a thousand steps",
			create(configMapOf("data", "a.yaml", policyHead+"ingresses:\n- {name: a, mode: enforce, paths: {deniedPatterns: ["+
				strings.Repeat("'/.{1000}', ", 12_000)+"'/a']}}\n")),
			"a.yaml:4:2441: ingresses[0].paths.deniedPatterns[199]: " +
				"the regular expressions of the policy have more than 200,000 steps " +
				"together, which is the limit ",
		},
		{
			"a list of 400,000", create(configMapOf("data", "a.yaml",
				policyHead+"mirrors: ["+strings.Repeat("a,", 400_000)+"a]\n")),
			"a.yaml:3:1: the policy has more than 200,000 values, which is the limit ",
		},
		{
			"two thousand mistakes", create(configMapOf("data", "a.yaml",
				policyHead+"services: ["+strings.Repeat("a,", 1999)+"a]\n")),
			"2000 mistakes, the first 10:\n" + mistakesOf(10),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // its clock does not advance while a policy is checked
				f := newFixture(t, testPolicy)
				suffix := "[policy " + f.Policies.Current().Hash() + "]"
				h := servingOf(f.Config)
				w := httptest.NewRecorder()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				h.ServeHTTP(w, post(t.Context(), t, "/validate/policy?timeout=3s", tt.body))
				runtime.ReadMemStats(&after)
				if mem := after.TotalAlloc - before.TotalAlloc; mem > 200<<20 {
					t.Errorf("it allocates %d MiB", mem>>20)
				}
				var a struct {
					Response struct {
						Allowed bool
						Status  struct{ Message string }
					}
				}
				if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 {
					t.Fatalf("answered %d %s (%v)", w.Code, w.Body, err)
				}
				want := tt.denial
				if want != "" {
					want += suffix
				}
				if a.Response.Status.Message != want || a.Response.Allowed != (tt.denial == "") {
					t.Errorf("got  %t %s\nwant %s", a.Response.Allowed, a.Response.Status.Message, want)
				}
			})
		})
	}
}

func mistakesOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- a.yaml:3:%d: services[%d]: want a mapping, got \"a\"\n", 12+2*i, i)
	}
	return b.String()
}

// askGuard sends a review of a policy in a new goroutine.
func askGuard(t *testing.T, s *server, decide decideFunc) *httptest.ResponseRecorder {
	t.Helper()
	return askGuardWithin(t, s, 30*time.Second, decide)
}

func askGuardWithin(t *testing.T, s *server, timeout time.Duration, decide decideFunc) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	guard := fakeWebhook("/validate/policy", decide, policy.Enforce)
	guard.Guards = true
	h := s.serving(Config{Ready: ok}, []admission.Webhook{guard})
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5"}}`
	go h.ServeHTTP(w, post(t.Context(), t, "/validate/policy?timeout="+timeout.String(), body))
	synctest.Wait()
	return w
}

func ok() error { return nil }

// Policies are checked one at a time. They do not use resources that other reviews need.
func TestPolicyGuardHasItsOwnCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "")
		f.Limits.Reviews = 1
		s := newServer(f.Config)
		first, second := newFakeDecider(), newFakeDecider()
		askGuard(t, s, first.decide)
		waiting := askGuard(t, s, second.decide)
		if n := s.guard.slots.Waiting(); n != 1 {
			t.Errorf("%d wait, want one", n)
		}
		if _, err := s.reviews.slots.Acquire(t.Context(), time.Now(), "", nil); err != nil {
			t.Errorf("no slot for other reviews: %v", err)
		}
		body := s.reviews.memory.Reserve(func() {})
		if err := body.Grow(t.Context(), time.Now(), 64<<20, nopWait); err != nil {
			t.Errorf("no memory for other bodies: %v", err)
		}
		body.Release()
		policies := s.guard.memory.Reserve(func() {})
		defer policies.Release()
		if err := policies.Grow(t.Context(), time.Now(), 12<<20, nopWait); err == nil {
			t.Error("the bodies of policies do not use any of their 12 MiB")
		}
		first.proceed <- struct{}{}
		synctest.Wait()
		if waiting.Code != 200 || s.guard.slots.Waiting() != 0 {
			t.Error("the second is not checked after the first")
		}
		second.proceed <- struct{}{}
		synctest.Wait()
		if waiting.Body.Len() == 0 {
			t.Error("the second is not answered")
		}
	})
}

// The check of a policy ends in time. A check that does not end must not restart the process.
func TestPolicyGuardEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "")
		s := newServer(f.Config)
		for timeout, want := range map[time.Duration]time.Duration{
			30 * time.Second: 2 * time.Second, 3 * time.Second: 2 * time.Second, time.Second: time.Second * 2 / 3,
		} {
			asked := make(chan bool, 2)
			askGuardWithin(t, s, timeout, func(_ *policy.Policy, effort *policy.Effort) (*admission.Decision, error) {
				for _, d := range []time.Duration{want, 1} {
					elapse(d)
					asked <- effort.Expired()
				}
				return &admission.Decision{}, nil
			})
			if early, late := <-asked, <-asked; early || !late {
				t.Errorf("timeout %s: after %s the check is to end: %t, after that %t", timeout, want, early, late)
			}
		}
		stuck := newFakeDecider()
		askGuard(t, s, stuck.decide)
		elapse(time.Minute)
		checkLive(t, s.serving(f.Config, nil), "")
		want := `level=ERROR msg="review is stuck" path=/validate/policy uid=705ab4f5 after=45s`
		if got := f.log.String(); !strings.Contains(got, want) {
			t.Errorf("the log lacks %s:\n%s", want, got)
		}
		stuck.proceed <- struct{}{}
		synctest.Wait()
	})
}
