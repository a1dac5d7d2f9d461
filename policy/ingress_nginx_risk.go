package policy

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/evergate/evergate/internal/text"
)

// nginxRisk is how much harm an annotation of ingress-nginx can do, in the words of the project.
type nginxRisk uint8

const (
	nginxLow nginxRisk = iota
	nginxMedium
	nginxHigh
	nginxCritical
)

var nginxRiskNames = [...]string{nginxLow: "Low", nginxMedium: "Medium", nginxHigh: "High", nginxCritical: "Critical"}

// String returns the project's word.
func (n nginxRisk) String() string { return nginxRiskNames[n] }

// UnmarshalText accepts the project's words.
func (n *nginxRisk) UnmarshalText(b []byte) error {
	for i, name := range nginxRiskNames {
		if name == string(b) {
			*n = nginxRisk(i)
			return nil
		}
	}
	return fmt.Errorf("%s is not a risk: write Low, Medium or High", text.Quote(b))
}

// nginxRisks has a line for each annotation: its name without prefix, a space, its risk. Lines with # are comments.
//
//go:embed data/ingress-nginx-annotation-risks.txt
var nginxRisks string

// nginxRiskOf looks an annotation up by its name without prefix. One that the list does not know is Critical: a newer
// version of the controller may give it any power.
func nginxRiskOf(name string) (risk nginxRisk, known bool) {
	risk, known = nginxRiskTable()[name]
	if !known {
		risk = nginxCritical
	}
	return risk, known
}

// nginxRiskTable is the list by name, read on first use.
var nginxRiskTable = sync.OnceValue(func() map[string]nginxRisk {
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
