package suite

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Expect is the expected decision. Absent fields are not checked.
type Expect struct {
	// Allowed is whether the object is allowed.
	Allowed *bool `yaml:"allowed"`
	// Denied lists the checks that deny the object, as rule/check, in any order. An empty list means that nothing
	// denies it.
	Denied []string `yaml:"denied"`
	// Warned lists the checks that warn, like Denied. For an image that would be rewritten, write entry/mirrors.
	Warned []string `yaml:"warned"`
	// Images contains the images that are pulled in the end, by places such as containers/name. Other images are not
	// checked.
	Images map[string]string `yaml:"images"`
	// Message is a part of the text that the user sees.
	Message string `yaml:"message"`
}

// The fields of Expect, in their order.
const (
	FieldAllowed = "allowed"
	FieldDenied  = "denied"
	FieldWarned  = "warned"
	FieldImages  = "images"
	FieldMessage = "message"
)

// validate rejects expectations that cannot be met.
func (e *Expect) validate() error {
	var errs []error
	for field, ids := range map[string][]string{FieldDenied: e.Denied, FieldWarned: e.Warned} {
		for _, id := range ids {
			if rule, check, ok := strings.Cut(id, "/"); !ok || rule == "" || check == "" {
				errs = append(errs, strict.Fieldf(field, "%s is not a rule and its check: write both, such as web/hosts.allowed",
					text.Quote(id)))
			}
		}
	}
	if e.Allowed != nil && *e.Allowed == (len(e.Denied) > 0) && e.Denied != nil {
		errs = append(errs, strict.Fieldf(FieldAllowed, "it contradicts denied: leave out one of them"))
	}
	return errors.Join(errs...)
}

// Says returns the names of the fields that are present.
func (e *Expect) Says() []string {
	var fields []string
	for _, f := range []struct {
		name string
		said bool
	}{
		{FieldAllowed, e.Allowed != nil}, {FieldDenied, e.Denied != nil}, {FieldWarned, e.Warned != nil},
		{FieldImages, e.Images != nil}, {FieldMessage, e.Message != ""},
	} {
		if f.said {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// YAML returns one of the fields in the syntax of a suite. Each list, and each image, is on one line.
func (e *Expect) YAML(field string) string {
	values := map[string]any{
		FieldAllowed: e.Allowed, FieldDenied: e.Denied, FieldWarned: e.Warned, FieldImages: e.Images, FieldMessage: e.Message,
	}
	var n yaml.Node
	_ = n.Encode(values[field]) // it does not fail for strings
	if n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	for _, value := range n.Content {
		if strings.Contains(value.Value, "\n") {
			value.Style = yaml.DoubleQuotedStyle
		}
	}
	data, _ := yaml.Marshal(map[string]*yaml.Node{field: &n})
	return string(data)
}

// ParseTime parses a date, which means its beginning in UTC, or a time in the format of RFC 3339.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is not a date: write an existing day such as 2027-01-31, or a time such as "+
		"2027-01-31T18:00:00Z", text.Quote(s))
}
