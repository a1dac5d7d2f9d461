package output

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	// fingerprintName is the name of the fingerprints. It gets a new number if their computation changes.
	fingerprintName = "evergate/v1"
	homepage        = "https://github.com/evergate/evergate"
)

// writeSARIF writes the report as SARIF 2.1.0.
func (r *findings) writeSARIF(w io.Writer) error {
	results, more := r.worst()
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "evergate", Version: r.Version, InformationURI: homepage, Rules: []sarifRule{},
		}},
		Automation:  sarifAutomation{"evergate " + r.Command + "/"},
		Invocations: []sarifInvocation{{ExecutionSuccessful: true}},
		ColumnKind:  "unicodeCodePoints",
		Results:     []sarifResult{},
	}
	rules, seen := map[string]int{}, map[string]int{}
	for _, result := range results {
		id := name(result.Rule)
		index, known := rules[id]
		if !known {
			index = len(rules)
			rules[id] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, newSarifRule(id, result.Help))
		}
		if result.Level == Invalid {
			run.Invocations[0].ExecutionSuccessful = false
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: id, RuleIndex: index, Level: min(result.Level, Error).String(), Message: sarifText{message(result.Message)},
			Locations:           []sarifLocation{r.sarifLocation(&result)},
			PartialFingerprints: map[string]string{fingerprintName: r.fingerprint(&result, seen)},
		})
	}
	if more > 0 {
		left := fmt.Sprintf("%s more results are left out: a file has at most %s", text.Thousands(more),
			text.Thousands(maxResults))
		run.Invocations[0].Notifications = []sarifNotification{{"warning", sarifText{left}}}
	}
	return Encode(w, JSON, sarifLog{sarifSchema, "2.1.0", []sarifRun{run}})
}

// newSarifRule returns a rule with all fields that GitHub requires.
func newSarifRule(id, help string) sarifRule {
	description := sarifText{message(cmp.Or(help, id))}
	return sarifRule{ID: id, ShortDescription: sarifText{id}, FullDescription: description, Help: description}
}

func (r *findings) sarifLocation(result *located) sarifLocation {
	var location sarifLocation
	if subject := cmp.Or(result.Subject, result.Name); subject != "" {
		location.Logical = []sarifLogical{{name(subject)}}
	}
	if result.at.File == "" {
		return location
	}
	location.Physical = &sarifPhysical{Artifact: sarifArtifact{uri(r.path(result.at.File))}}
	if result.at.Line > 0 {
		location.Physical.Region = &sarifRegion{result.at.Line, result.at.Column}
	}
	return location
}

// uri returns a path as a URI. A relative path becomes a relative URI.
func uri(path string) string { return (&url.URL{Path: path}).String() }

// fingerprint identifies a result in different runs. It depends on file, rule, subject and, if several results share
// these, on their order. It does not depend on lines, which move, or on sentences, which change with a policy.
func (r *findings) fingerprint(result *located, seen map[string]int) string {
	key := strings.Join([]string{
		r.path(result.at.File), name(result.Rule), name(cmp.Or(result.Subject, result.Name)), "",
	}, "\x00")
	seen[key]++
	sum := sha256.Sum256([]byte(key + strconv.Itoa(seen[key])))
	return hex.EncodeToString(sum[:16]) // half of the hash is more than enough to distinguish 5,000 results
}
