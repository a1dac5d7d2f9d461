package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// Coverage reports which part of an entry is native.
type Coverage struct {
	Entry policy.Entry
	// Native means that the API server enforces the entry.
	Native bool
	// Why is the reason why the entry is not native, or lists the parts that are not native.
	Why string

	word   string      // native, partly native, webhook only, off, ended
	lost   []string    // the protection that is lost without the webhook, as parts of a sentence
	causes []*Omission // why the entry is not exported
}

// Complete reports whether the API server enforces the whole entry, or the entry is not active. It does not consider
// warnings about images and the Pod templates of workloads, which only the webhook covers.
func (c *Coverage) Complete() bool { return c.word == "native" || c.word == "off" || c.word == "ended" }

// cover fills in the coverage.
func (x *exporter) cover() {
	for _, e := range x.entries {
		if e.Block != "exceptions" {
			x.result.Coverage = append(x.result.Coverage, x.coverageOf(e))
		}
	}
}

func (x *exporter) coverageOf(e *entry) Coverage {
	c := Coverage{Entry: e.Entry, word: "webhook only"}
	partial := e.partial
	switch {
	case e.ended:
		c.Why, c.word = "it has ended", "ended"
		return c
	case e.Mode == policy.Off:
		c.Why, c.word = "it is off", "off"
		return c
	case !x.exports(e.Block):
		c.Why = "none of the selected targets supports it"
		c.lost = []string{"the entry does not apply, because " + c.Why}
		return c
	case len(e.omitted) > 0:
		c.causes = e.omitted
		_, c.Why, _ = c.causes[0].Of(&e.Entry)
		c.lost = lostBlocks(partial)
		return c
	case len(partial) > 0:
		c.Native = slices.ContainsFunc(slices.Collect(maps.Keys(e.Fields)), func(f string) bool {
			return !slices.Contains([]string{"match", "exclude", "kinds", "subdomainDomains"}, f)
		})
		c.Why = "except " + omittedFields(partial)
		if c.Native {
			c.word = "partly native"
		}
	default:
		c.Native, c.word = true, "native"
	}
	c.lost = lostBlocks(partial)
	switch {
	case e.Block == "pods" && e.Fields["workloads"] != "off":
		c.Why = "except the templates of workloads, which only the webhook validates"
		c.lost = append(c.lost, "nothing checks the Pod templates of workloads")
	case e.Block == "mirrors":
		c.Why = "except warnings and audit annotations about images, which only the webhook writes"
		c.lost = append(c.lost, "nothing writes warnings and audit annotations about images")
	}
	if e.Mode != policy.Enforce {
		c.lost = append(c.lost, "no metric counts the findings")
	}
	return c
}

// lostBlocks returns the protection that is lost without the webhook, for fields that only the webhook applies.
func lostBlocks(omissions []*Omission) (lost []string) {
	for _, r := range omissions {
		if r.Why == openShiftRoutes {
			lost = append(lost, "nothing checks OpenShift Routes")
			continue
		}
		lost = append(lost, "nothing checks "+r.Field+", because "+r.Why)
	}
	return lost
}

// omittedFields lists the fields that only the webhook applies, with the reasons.
func omittedFields(omissions []*Omission) string {
	var fields []string
	for _, r := range omissions {
		fields = append(fields, r.Field+" ("+r.Why+")")
	}
	return strings.Join(fields, ", ")
}

// Report returns lines about the protection that is lost without the webhook: one line for each entry, or one line for
// each cause that affects several entries.
func (r *Result) Report() []string {
	var lines []string
	reported := map[*Omission]bool{}
	for i := range r.Coverage {
		c := &r.Coverage[i]
		var own []*Omission
		for _, cause := range c.causes {
			switch {
			case len(cause.others()) == 0:
				own = append(own, cause)
			case !reported[cause]:
				reported[cause] = true
				lines = append(lines, cause.report())
			}
		}
		if len(own) > 0 || len(c.causes) == 0 || len(c.lost) > 0 {
			lines = append(lines, c.report(own))
		}
	}
	return lines
}

// report returns the line for an entry. causes are the reasons why only this entry is not exported.
func (c *Coverage) report(causes []*Omission) string {
	lost := c.lost
	if len(causes) > 0 {
		var reasons []string
		for _, r := range causes {
			reasons = append(reasons, r.reason())
		}
		lost = slices.Insert(slices.Clone(lost), 0,
			"the entry does not apply, because "+strings.Join(reasons, ", and because "))
	}
	sentence := "Nothing is lost without the webhook."
	if len(lost) > 0 {
		sentence = "Without the webhook, " + strings.Join(lost, ", and ") + "."
	}
	return fmt.Sprintf("%s: %s: %s. %s", c.Entry.Pos, nameOf(&c.Entry), c.word, sentence)
}

// report returns the line for a cause that affects several entries, or an entry elsewhere.
func (r *Omission) report() string {
	var names []string
	for i := range r.Entries {
		names = append(names, nameOf(&r.Entries[i]))
	}
	return fmt.Sprintf("%s: %s: webhook only. Without the webhook, these entries do not apply, because %s: %s.", r.Pos,
		r.cause, r.reason(), strings.Join(names, ", "))
}

// reason returns the reason, with the field that causes it, as a part of a sentence.
func (r *Omission) reason() string {
	if r.Field == "" {
		return r.Why
	}
	return "of " + r.Field + " (" + r.Why + ")"
}
