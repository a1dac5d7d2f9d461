package export

import (
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

	complete bool
}

// Complete reports whether the API server enforces the whole entry, or the entry is not active. It does not consider
// warnings about images and the Pod templates of workloads, which only the webhook covers.
func (c *Coverage) Complete() bool { return c.complete }

// String returns the line for a report.
func (c *Coverage) String() string {
	part := "webhook only"
	switch {
	case c.Native && c.complete:
		part = "native"
	case c.Native:
		part = "partly native"
	case c.complete:
		return c.Entry.Pos.String() + ": " + nameOf(&c.Entry) + ": " + c.Why
	}
	if c.Why != "" {
		part += ": " + c.Why
	}
	return c.Entry.Pos.String() + ": " + nameOf(&c.Entry) + ": " + part
}

// Report returns a line for each entry, with the protection that is lost without the webhook.
func (r *Result) Report() []string {
	lines := make([]string, len(r.Coverage))
	for i := range r.Coverage {
		lines[i] = r.Coverage[i].String()
	}
	return lines
}

func (x *exporter) coverageOf(e *entry) Coverage {
	c := Coverage{Entry: e.Entry}
	switch {
	case e.Block == "unique":
		c.Why, c.complete = "only review, plan and test evaluate it", true
	case e.ended:
		c.Why, c.complete = "it has ended", true
	case e.Mode == policy.Off:
		c.Why, c.complete = "it is off", true
	case !x.exports(e.Block):
		c.Why = "none of the selected targets supports it"
	case len(e.omitted) > 0:
		c.Why = reasons(e, append(e.omitted, e.partial...))
	case len(e.partial) > 0:
		c.Native, c.Why = len(e.checks) > 0, reasons(e, e.partial)
		if c.Native {
			c.Why = "except " + c.Why
		}
	case e.Block == "pods" && e.Fields["workloads"] != "off":
		c.Native, c.complete, c.Why = true, true, "except the templates of workloads, which only the webhook validates"
	case e.Block == "mirrors":
		c.Native, c.complete = true, true
		c.Why = "except warnings and audit annotations about images, which only the webhook writes"
	default:
		c.Native, c.complete = true, true
	}
	return c
}

// reasons lists omissions of an entry with their fields.
func reasons(e *entry, omissions []*Omission) string {
	var all []string
	for _, o := range omissions {
		field, why, _ := o.Of(&e.Entry)
		if field != "" {
			why = field + " (" + why + ")"
		}
		all = append(all, why)
	}
	return strings.Join(all, ", ")
}
