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

// sarif is an object of SARIF 2.1.0, with the names of the standard:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type sarif = map[string]any

// writeSARIF writes the report as SARIF 2.1.0.
func (r *findings) writeSARIF(w io.Writer) error {
	results, more := r.worst()
	rules, written := []sarif{}, []sarif{}
	invocation := sarif{"executionSuccessful": true}
	indices, seen := map[string]int{}, map[string]int{}
	for _, result := range results {
		id := name(result.Rule)
		if _, known := indices[id]; !known {
			indices[id] = len(rules)
			rules = append(rules, sarifRule(id, result.Help))
		}
		if result.Level == Invalid {
			invocation["executionSuccessful"] = false
		}
		written = append(written, sarif{
			"ruleId": id, "ruleIndex": indices[id], "level": min(result.Level, Error).String(),
			"message": sarif{"text": message(result.Message)}, "locations": []sarif{r.sarifLocation(&result)},
			"partialFingerprints": sarif{fingerprintName: r.fingerprint(&result, seen)},
		})
	}
	if more > 0 {
		left := fmt.Sprintf("%s more results are left out: a file has at most %s", text.Thousands(more),
			text.Thousands(maxResults))
		invocation["toolExecutionNotifications"] = []sarif{{"level": "warning", "message": sarif{"text": left}}}
	}
	driver := sarif{"name": "evergate", "informationUri": homepage, "rules": rules}
	if r.Version != "" {
		driver["version"] = r.Version
	}
	return Encode(w, JSON, sarif{"$schema": sarifSchema, "version": "2.1.0", "runs": []sarif{{
		"tool": sarif{"driver": driver},
		// GitHub replaces the results of a run by the results of the next run with the same ID.
		"automationDetails": sarif{"id": "evergate " + r.Command + "/"},
		"invocations":       []sarif{invocation},
		"columnKind":        "unicodeCodePoints",
		"results":           written,
	}}})
}

// sarifRule returns a rule with all fields that GitHub requires.
func sarifRule(id, help string) sarif {
	description := sarif{"text": message(cmp.Or(help, id))}
	return sarif{
		"id": id, "shortDescription": sarif{"text": id}, "fullDescription": description, "help": description,
	}
}

func (r *findings) sarifLocation(result *located) sarif {
	location := sarif{}
	if subject := cmp.Or(result.Subject, result.Name); subject != "" {
		location["logicalLocations"] = []sarif{{"fullyQualifiedName": name(subject)}}
	}
	if result.at.File == "" {
		return location
	}
	physical := sarif{"artifactLocation": sarif{"uri": uri(r.path(result.at.File))}}
	if result.at.Line > 0 {
		region := sarif{"startLine": result.at.Line}
		if result.at.Column > 0 {
			region["startColumn"] = result.at.Column
		}
		physical["region"] = region
	}
	location["physicalLocation"] = physical
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
