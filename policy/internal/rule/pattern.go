package rule

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// rulePattern matches policy entries, or their checks: team-hosts, team-hosts/hosts.allowed, only-mirrors/*. * is any
// run of characters.
type rulePattern struct {
	entry, check match.Glob // check is empty for all checks
}

// UnmarshalText parses a name, or a name and a check.
func (p *rulePattern) UnmarshalText(b []byte) error {
	entry, check, has := strings.Cut(string(b), "/")
	if entry == "" || has && check == "" || strings.Contains(check, "/") ||
		!match.IsAlphanumeric(string(b), "-./*") {
		return fmt.Errorf("%s is not a rule: write the name of an entry, or a name and a check, as in "+
			"team-hosts/hosts.allowed; * is any run of characters", text.Quote(b))
	}
	*p = rulePattern{match.Glob(entry), match.Glob(check)}
	return nil
}

// String returns the pattern in the form that policies use.
func (p rulePattern) String() string {
	if p.check == "" {
		return string(p.entry)
	}
	return string(p.entry) + "/" + string(p.check)
}

// matches reports whether the pattern matches a check of an entry.
func (p rulePattern) matches(rule, check string) bool {
	return p.entry.Match(rule) && (p.check == "" || p.check.Match(check))
}
