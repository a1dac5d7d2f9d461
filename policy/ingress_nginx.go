package policy

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// ingressNginxRules is the ingressNginx field of an ingresses entry. It checks annotations under the prefix
// nginx.ingress.kubernetes.io and under the prefixes in annotationPrefixes.ingressNginx.
type ingressNginxRules struct {
	// MaxRisk is the highest risk that an annotation may have: Low, Medium or High. The project publishes a risk for each
	// of its annotations. An annotation without a published risk counts as Critical. Absent: every risk passes.
	MaxRisk *nginxRisk `yaml:"maxRisk"`
	// RewriteTarget: safe means that the annotation rewrite-target must not contain a question mark. Absent: the
	// annotation is not checked.
	RewriteTarget safety `yaml:"rewriteTarget"`
}

func (n *ingressNginxRules) Validate() error {
	if n.MaxRisk != nil && *n.MaxRisk == nginxCritical {
		return strict.Fieldf("maxRisk", "Critical lets every annotation pass: leave it out")
	}
	return rule.RejectNone(n.checks(), "maxRisk or rewriteTarget")
}

func (n *ingressNginxRules) checks() []rule.Check[ingressView] {
	return rule.Checks(
		rule.When(n.MaxRisk != nil, ingressNginxMaxRisk{n.MaxRisk}),
		rule.When(n.RewriteTarget, ingressNginxRewriteTarget{}),
	)
}

// safety is a field whose only value is safe. If it is set, an object must not contain the unsafe values that the field
// describes.
type safety bool

// UnmarshalText accepts the word safe.
func (s *safety) UnmarshalText(b []byte) error {
	if string(b) != "safe" {
		return fmt.Errorf("%s is not known here: write safe, or leave the field out to allow every value", text.Quote(b))
	}
	*s = true
	return nil
}

// ingressNginxMaxRisk is ingressNginx.maxRisk. It finds each ingress-nginx annotation whose published risk is above the
// limit. If an update changes the value of such an annotation, the finding is introduced.
type ingressNginxMaxRisk struct{ limit *nginxRisk }

func (c ingressNginxMaxRisk) Find(ing *ingressView, r *rule.Recorder) {
	for _, a := range ing.annotationsInEffect(&ing.Meta, r) {
		if !r.Spend(len(ing.known.NginxPrefixes())) {
			return
		}
		name, ours := ing.known.NginxName(a.key)
		if !ours || !r.Spend(1) {
			continue
		}
		risk, known := nginxRiskOf(name)
		if risk <= *c.limit {
			continue
		}
		if f := r.TryAdd(a.identity("ingressNginx.maxRisk")); f != nil {
			found := "has the risk " + risk.String()
			if !known {
				found = "is not in ingress-nginx's list of risks, so it counts as " + risk.String()
			}
			f.Path, f.Reason = a.path(), found+"; at most "+c.limit.String()+" is allowed"
		}
	}
}

// ingressNginxRewriteTarget is ingressNginx.rewriteTarget. It finds an annotation rewrite-target that contains a
// question mark anywhere in its value. If an update changes the value to another one with a question mark, the finding
// is introduced.
//
// The check is a precaution. The annotation becomes the replacement in an nginx rewrite directive. CVE-2026-42945 in
// nginx 0.6.27 to 1.30.0 is a heap overflow. It needs a rewrite whose replacement contains a question mark and an
// unnamed capture such as $1, followed by a rewrite, if or set directive. The last ingress-nginx releases contain nginx
// 1.27.1. Their annotation validation rejects the question mark unless the validation is disabled, so it is not proven
// that an Ingress can cause the overflow. CVE-2026-3288 is another vulnerability in the same annotation. It allowed
// users to inject configuration into nginx. This check does not find it.
type ingressNginxRewriteTarget struct{}

func (ingressNginxRewriteTarget) Find(ing *ingressView, r *rule.Recorder) {
	for _, prefix := range ing.known.NginxPrefixes() {
		key := prefix + "rewrite-target"
		a := annotation{key: key, value: ing.Meta.Annotations[key]}
		if !r.Spend(rule.StepsOf(1, a.value)) {
			return
		}
		if !strings.Contains(a.value, "?") {
			continue
		}
		if f := r.TryAdd(a.identity("ingressNginx.rewriteTarget")); f != nil {
			f.Path = a.path()
			f.Reason = text.Quote(a.value) + " contains '?', which can make nginx up to 1.30.0 write beyond a buffer " +
				"(CVE-2026-42945); leave it out"
		}
	}
}

// nginxRisk is the risk of an ingress-nginx annotation, in the words of the project.
type nginxRisk uint8

const (
	nginxLow nginxRisk = iota
	nginxMedium
	nginxHigh
	nginxCritical
)

func nginxRiskNames() [nginxCritical + 1]string {
	return [...]string{nginxLow: "Low", nginxMedium: "Medium", nginxHigh: "High", nginxCritical: "Critical"}
}

// String returns the project's word for the risk.
func (n nginxRisk) String() string { return nginxRiskNames()[n] }

// UnmarshalText accepts the project's words for risks.
func (n *nginxRisk) UnmarshalText(b []byte) error {
	for i, name := range nginxRiskNames() {
		if name == string(b) {
			*n = nginxRisk(i)
			return nil
		}
	}
	return fmt.Errorf("%s is not a risk: write Low, Medium or High", text.Quote(b))
}

// nginxRisks has a line for each annotation. A line contains the name without prefix, a space and the risk. Lines that
// begin with # are comments.
//
//go:embed data/ingress-nginx-annotation-risks.txt
var nginxRisks string

// nginxRiskOf returns the risk of an annotation by its name without prefix. known reports whether the annotation is in
// the list. An annotation that is not in the list is Critical, because a newer version of the controller may give it
// any effect.
func nginxRiskOf(name string) (risk nginxRisk, known bool) {
	risk, known = nginxRiskTable()[name]
	if !known {
		risk = nginxCritical
	}
	return risk, known
}

// nginxRiskTable returns the risks by name, parsed on first use.
var nginxRiskTable = sync.OnceValue(func() map[string]nginxRisk { //nolint:gochecknoglobals // of an embedded file
	risks := map[string]nginxRisk{}
	for line := range strings.Lines(nginxRisks) {
		var risk nginxRisk
		name, word, _ := strings.Cut(line, " ")
		if risk.UnmarshalText([]byte(strings.TrimSpace(word))) == nil {
			risks[name] = risk
		}
	}
	return risks
})
