package policy

import (
	_ "embed"
	"fmt"
	"strings"
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
func (n *nginxRisk) UnmarshalText(text []byte) error {
	for i, name := range nginxRiskNames {
		if name == string(text) {
			*n = nginxRisk(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a risk: write Low, Medium or High", text)
}

// nginxRisks has a line for each annotation: its name without prefix, a space, its risk. Lines with # are comments.
//
//go:embed data/ingress-nginx-annotation-risks.txt
var nginxRisks string

// nginxRiskOf looks an annotation up by its name without prefix. One that the list does not know is Critical: a newer
// version of the controller may give it any power. Reading the list, some 140 lines, takes about a microsecond.
func nginxRiskOf(name string) (risk nginxRisk, known bool) {
	start := name + " "
	for line := range strings.Lines(nginxRisks) {
		if word, ok := strings.CutPrefix(line, start); ok && risk.UnmarshalText([]byte(strings.TrimSpace(word))) == nil {
			return risk, true
		}
	}
	return nginxCritical, false
}
