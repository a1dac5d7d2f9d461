package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

const testHash = "0123456789ab"

func findingOf(mode policy.Mode, tweak ...func(*policy.Finding)) policy.Finding {
	f := policy.Finding{
		Rule: "team-hosts", Check: "hosts.allowed", Mode: mode, Path: "spec.rules[0].host",
		Reason: `"shop.example.com" is not allowed; allowed is *.apps.corp.example`,
	}
	for _, t := range tweak {
		t(&f)
	}
	return f
}

func existed(f *policy.Finding)               { f.Existed = true }
func check(name string) func(*policy.Finding) { return func(f *policy.Finding) { f.Check = name } }
func note(text string) func(*policy.Finding)  { return func(f *policy.Finding) { f.Note = text } }

// exempt makes a finding exempt by the exception with the given name, or by the exclude block of its rule if the name
// is empty.
func exempt(by string) func(*policy.Finding) {
	e := &policy.Exemption{Name: by, Until: "2027-01-31"}
	return func(f *policy.Finding) { f.Exempt = e }
}

func image(o policy.Outcome, mode policy.Mode) policy.ImageOutcome {
	img := policy.ImageOutcome{
		Image:   object.Image{Place: object.Containers, Index: 1, Name: "app", Ref: "nginx:1.25"},
		Outcome: o,
	}
	switch o {
	case policy.Rewritten, policy.WouldRewrite:
		img.Entry, img.Mode, img.To = "hub", mode, "mirror.corp.example/docker.io/library/nginx:1.25"
	case policy.Malformed:
		img.Image.Ref, img.Detail = "nginx:1:25", "invalid reference format"
	default:
	}
	return img
}

func repeat(n int, f policy.Finding) []policy.Finding {
	var all []policy.Finding
	for i := range n {
		f.Path = fmt.Sprintf("spec.rules[%d].host", i)
		all = append(all, f)
	}
	return all
}

// denialOf returns the denial with these findings, below a head.
func denialOf(shown []policy.Finding, head string) string {
	for _, f := range shown {
		head += "\n- " + f.String()
	}
	return head + "\n[policy " + testHash + "]"
}

// The longest valid name of an object is not cut.
func TestHello(t *testing.T) {
	path := "/" + strings.Repeat("a", 252)
	d := Decision{Policy: testHash}
	for more, want := range map[string]string{"": path, "b": path[:253-len("…")] + "…"} {
		got, version, hash, ok := ParseHello(d.Hello(path+more, "v1.0.0"))
		if got != want || version != "v1.0.0" || hash != testHash || !ok {
			t.Errorf("%s, %s, %s, %t", got, version, hash, ok)
		}
	}
}

func TestDenial(t *testing.T) {
	many := repeat(12, findingOf(policy.Enforce))
	tests := []struct {
		name string
		v    Decision
		want string // empty if allowed
	}{
		{"nothing found", Decision{}, ""},
		{"found in mode warn", Decision{Findings: []policy.Finding{findingOf(policy.Warn)}}, ""},
		{"found in mode audit", Decision{Findings: []policy.Finding{findingOf(policy.Audit)}}, ""},
		{"exempt", Decision{Findings: []policy.Finding{findingOf(policy.Enforce, exempt("legacy"))}}, ""},
		{"existed before the update", Decision{Findings: []policy.Finding{findingOf(policy.Enforce, existed)}}, ""},
		{
			"one",
			Decision{Findings: []policy.Finding{findingOf(policy.Enforce, note("ask #platform"))}},
			`team-hosts/hosts.allowed: spec.rules[0].host: "shop.example.com" is not allowed; allowed is *.apps.corp.example ` +
				`(ask #platform) [policy 0123456789ab]`,
		},
		{
			"one beside others that do not deny",
			Decision{Findings: []policy.Finding{
				findingOf(policy.Warn), findingOf(policy.Enforce, existed), findingOf(policy.Enforce, check("tls.required")),
			}},
			`team-hosts/tls.required: spec.rules[0].host: "shop.example.com" is not allowed; allowed is *.apps.corp.example ` +
				`[policy 0123456789ab]`,
		},
		{
			"two",
			Decision{Findings: many[:2]},
			`2 findings:
- team-hosts/hosts.allowed: spec.rules[0].host: "shop.example.com" is not allowed; allowed is *.apps.corp.example
- team-hosts/hosts.allowed: spec.rules[1].host: "shop.example.com" is not allowed; allowed is *.apps.corp.example
[policy 0123456789ab]`,
		},
		{"eleven", Decision{Findings: many[:11]}, denialOf(many[:10], "11 findings, the first 10:")},
		{"twelve", Decision{Findings: many}, denialOf(many[:10], "12 findings, the first 10:")},
		{
			"an object that cannot be evaluated",
			Decision{Unevaluated: Unevaluated{"the object is nested more than 10000 levels deep", policy.Enforce}},
			"the object is nested more than 10000 levels deep [policy 0123456789ab]",
		},
		{
			"an object that cannot be evaluated, for a field with a name of 128 KiB",
			Decision{Unevaluated: Unevaluated{strings.Repeat("x", 128<<10), policy.Enforce}},
			strings.Repeat("x", MaxSentence-len("…")) + "… [policy 0123456789ab]",
		},
		{
			"an object that cannot be evaluated, where nothing is enforced",
			Decision{Unevaluated: Unevaluated{"too deep", policy.Warn}}, "",
		},
		{
			"a sentence with an annotation of 256 KiB in it",
			Decision{Findings: []policy.Finding{{
				Rule: "snippets", Check: "annotations.denied", Mode: policy.Enforce, Reason: strings.Repeat("é", 128<<10),
			}}},
			"snippets/annotations.denied: " +
				strings.Repeat("é", (MaxSentence-len("snippets/annotations.denied: ")-len("…"))/2) +
				"… [policy 0123456789ab]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.v.Policy = testHash
			a := tt.v.Response()
			if diff := cmp.Diff(tt.want, a.Message); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if a.Allowed != (tt.want == "") {
				t.Errorf("allowed: %t", a.Allowed)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	sentence := `team-hosts/hosts.allowed: spec.rules[0].host: "shop.example.com" is not allowed; ` +
		`allowed is *.apps.corp.example`
	tests := []struct {
		name string
		v    Decision
		want []string
	}{
		{"nothing", Decision{}, nil},
		{"not evaluated in mode enforce, which denies", Decision{Unevaluated: Unevaluated{"too deep", policy.Enforce}}, nil},
		{
			"not evaluated in mode warn",
			Decision{Unevaluated: Unevaluated{"too deep", policy.Warn}},
			[]string{"[warn 0123456789ab] not evaluated: too deep"},
		},
		{"not evaluated in mode audit", Decision{Unevaluated: Unevaluated{"too deep", policy.Audit}}, nil},
		{
			"findings by mode",
			Decision{Findings: []policy.Finding{findingOf(policy.Audit), findingOf(policy.Warn), findingOf(policy.Enforce)}},
			[]string{"[warn 0123456789ab] " + sentence},
		},
		{
			"findings that are exempt",
			Decision{Findings: []policy.Finding{
				findingOf(policy.Enforce, exempt("legacy")), findingOf(policy.Warn, exempt("")),
			}},
			nil,
		},
		{
			"findings that existed",
			Decision{Findings: []policy.Finding{
				findingOf(policy.Audit, existed), findingOf(policy.Warn, existed), findingOf(policy.Enforce, existed),
			}},
			[]string{
				"[warn 0123456789ab] " + sentence + "; existed before this update",
				"[enforce 0123456789ab] " + sentence + "; existed before this update",
			},
		},
		{
			"images",
			Decision{Rewriting: policy.Rewriting{Images: []policy.ImageOutcome{
				image(policy.NoMirror, 0), image(policy.Rewritten, policy.Enforce), image(policy.WouldRewrite, policy.Audit),
				image(policy.WouldRewrite, policy.Warn), image(policy.AtMirror, 0), image(policy.Excluded, 0),
				image(policy.Unchanged, 0), image(policy.Malformed, 0), image(policy.Ignored, 0),
			}}},
			[]string{
				"[warn 0123456789ab] hub: spec.containers[1].image: nginx:1.25 would be pulled from " +
					"mirror.corp.example/docker.io/library/nginx:1.25",
				`[0123456789ab] spec.containers[1].image: "nginx:1:25" is not an image reference: invalid reference format`,
			},
		},
		{
			"an ephemeral container, whose original is recorded nowhere else",
			Decision{
				Head:      review.Head{Attributes: object.Attributes{Subresource: "ephemeralcontainers"}},
				Rewriting: policy.Rewriting{Images: []policy.ImageOutcome{image(policy.Rewritten, policy.Enforce)}},
			},
			[]string{
				"[enforce 0123456789ab] hub: spec.containers[1].image: nginx:1.25 is pulled from " +
					"mirror.corp.example/docker.io/library/nginx:1.25",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.v.Policy = testHash
			if diff := cmp.Diff(tt.want, tt.v.Response().Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsAreFew(t *testing.T) {
	for name, test := range map[string]struct {
		Decision
		more int
	}{
		"findings": {Decision{
			Rewriting: policy.Rewriting{Images: []policy.ImageOutcome{image(policy.Malformed, 0)}},
			Findings:  repeat(500, findingOf(policy.Warn)),
		}, 491},
		"images": {Decision{
			Rewriting: policy.Rewriting{Images: slices.Repeat([]policy.ImageOutcome{
				image(policy.Malformed, 0), image(policy.NoMirror, 0),
			}, 500)},
			Findings: repeat(1, findingOf(policy.Warn)),
		}, 491},
		"one too many": {Decision{Findings: repeat(11, findingOf(policy.Warn))}, 1},
	} {
		test.Policy = testHash
		got := test.Response().Warnings
		if len(got) != 11 {
			t.Fatalf("%s: %d warnings, want 10 and a count", name, len(got))
		}
		if want := fmt.Sprintf("[0123456789ab] and %d more", test.more); got[10] != want {
			t.Errorf("%s: the last is %q, want %q", name, got[10], want)
		}
	}
}

func TestAuditAnnotations(t *testing.T) {
	tests := []struct {
		name string
		v    Decision
		want map[string]string
	}{
		{"nothing but the policy", Decision{}, map[string]string{"policy": testHash}},
		{
			"an object that cannot be evaluated",
			Decision{Unevaluated: Unevaluated{"too deep", policy.Audit}},
			map[string]string{"policy": testHash, "unevaluated": "too deep (audit)"},
		},
		{
			"an object that cannot be evaluated, at length",
			Decision{Unevaluated: Unevaluated{strings.Repeat("x", 128<<10), policy.Enforce}},
			map[string]string{"policy": testHash, "unevaluated": strings.Repeat("x", MaxSentence-len("…")) + "… (enforce)"},
		},
		{
			"findings",
			Decision{Findings: append(repeat(3, findingOf(policy.Enforce)),
				findingOf(policy.Enforce, existed), findingOf(policy.Audit, check("tls.required")))},
			map[string]string{
				"policy": testHash,
				"findings": "team-hosts/hosts.allowed (enforce, 3), team-hosts/hosts.allowed (enforce, existed), " +
					"team-hosts/tls.required (audit)",
			},
		},
		{
			"findings that are exempt",
			Decision{Findings: append(repeat(2, findingOf(policy.Enforce, exempt("legacy"))),
				findingOf(policy.Warn, exempt("")), findingOf(policy.Enforce))},
			map[string]string{
				"policy": testHash,
				"findings": "team-hosts/hosts.allowed (enforce, exempt by legacy until 2027-01-31, 2), " +
					"team-hosts/hosts.allowed (warn, exempt by exclude until 2027-01-31), team-hosts/hosts.allowed (enforce)",
			},
		},
		{
			"images",
			Decision{Rewriting: policy.Rewriting{Images: []policy.ImageOutcome{
				image(policy.NoMirror, 0), image(policy.Rewritten, policy.Enforce), image(policy.WouldRewrite, policy.Audit),
			}}},
			map[string]string{
				"policy": testHash,
				"images": "containers/app: nginx:1.25 -> mirror.corp.example/docker.io/library/nginx:1.25 (hub, enforce), " +
					"containers/app: nginx:1.25 -> mirror.corp.example/docker.io/library/nginx:1.25 (hub, audit)",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.v.Policy = testHash
			got := tt.v.Response().AuditAnnotations
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("audit annotations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuditAnnotationsAreShort(t *testing.T) {
	v := Decision{Policy: testHash}
	for range 100 {
		v.Rewriting.Images = append(v.Rewriting.Images, image(policy.Rewritten, policy.Enforce))
	}
	got := v.Response().AuditAnnotations["images"]
	if len(got) > maxAnnotation {
		t.Errorf("%d bytes", len(got))
	}
	each := len("containers/app: nginx:1.25 -> mirror.corp.example/docker.io/library/nginx:1.25 (hub, enforce), ")
	fit := (maxAnnotation - len(" and 1000000 more")) / each
	if want := fmt.Sprintf(" and %d more", 100-fit); !strings.HasSuffix(got, want) {
		t.Errorf("ends with %q, want %q", got[len(got)-20:], want)
	}

	v.Rewriting.Images = v.Rewriting.Images[:1]
	v.Rewriting.Images[0].To = strings.Repeat("x", maxAnnotation)
	got = v.Response().AuditAnnotations["images"]
	const start = "containers/app: nginx:1.25 -> xxx"
	if len(got) > maxAnnotation || !strings.HasPrefix(got, start) || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes, %.50q…", len(got), got)
	}
}

// A line keeps its order: it keeps the first elements, and not the shortest.
func TestLineKeepsItsOrder(t *testing.T) {
	var l line
	for _, s := range []string{"first", strings.Repeat("x", maxAnnotation), "last"} {
		l.add(s[:1], s[1:])
	}
	if got, want := l.String(), "first and 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A sentence may be as long as a request, so sentences that are not kept are not created.
func TestSentencesAreMadeWhereKept(t *testing.T) {
	var l sentences
	for range Shown {
		l.add(func() string { return "kept" })
	}
	l.add(func() string { t.Error("a sentence was created that is not kept"); return "" })
	if len(l.kept) != Shown || l.more != 1 {
		t.Errorf("%d sentences, and %d more", len(l.kept), l.more)
	}
}

// The API server adds the webhook's name and a slash before a key, and accepts only qualified names.
func TestAuditKeys(t *testing.T) {
	for _, key := range []string{auditPolicy, auditFindings, auditImages, auditUnevaluated} {
		if errs := validation.IsQualifiedName("pods.validate.evergate.dev/" + key); errs != nil {
			t.Errorf("%s: %v", key, errs)
		}
	}
}

// A denied request is not patched, because the API server rejects a response with both a denial and a patch.
func TestDenialHasNoPatch(t *testing.T) {
	v := Decision{Policy: testHash, Unevaluated: Unevaluated{"x", policy.Enforce}, Patch: newPatch()}
	if a := v.Response(); a.Patch != nil {
		t.Errorf("patch %v", a.Patch)
	}
}

func newPatch() []byte {
	return []byte(`[{"op":"replace","path":"/spec/containers/0/image","value":"x"}]`)
}

// An update cannot add a pull secret. The response warns the user, because the new image may not be pulled.
func TestMissingPullSecret(t *testing.T) {
	d := Decision{Policy: testHash}
	d.Rewriting.PullSecrets.Missing = []string{"mirror-login"}
	want := []string{"[" + testHash + "] spec.imagePullSecrets does not contain mirror-login, which the mirror may " +
		"require, and an update cannot add it: if the image is not pulled, create the Pod again"}
	if diff := cmp.Diff(want, d.Response().Warnings); diff != "" || !d.Warns() {
		t.Error(diff, d.Warns())
	}
}

func TestAuditOfPullSecrets(t *testing.T) {
	d := Decision{Policy: testHash}
	d.Rewriting.PullSecrets.Added = []string{"mirror-login", "other"}
	if got := d.Response().AuditAnnotations["secrets"]; got != "mirror-login, other" {
		t.Error(got)
	}
}
