package rule

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// labelPattern is a label key that an object must have, or a key and a pattern for its value: app, app=web-*.
type labelPattern struct {
	key      string
	value    match.Glob
	anyValue bool
}

// UnmarshalText parses key and key=value. It returns an error for a pattern that contains a character that labels
// cannot contain, because the pattern does not match anything: an exclude by "app = x" or "app!=x" would not exempt
// anything, and a match would not apply to any object.
func (l *labelPattern) UnmarshalText(b []byte) error {
	key, value, has := strings.Cut(string(b), "=")
	if key == "" || strings.Contains(key, "*") {
		return fmt.Errorf("%s is not a label: write key or key=value", text.Quote(b))
	}
	if err := match.RejectUnprintable(b, "pattern"); err != nil {
		return err
	}
	if !inLabels(key, value) {
		return fmt.Errorf("%s matches no label: key and value are written with letters, digits, - _ and ., a key also with /"+
			"%s", text.Quote(b), meantLabel(key, value, has))
	}
	*l = labelPattern{key, match.Glob(value), !has}
	return nil
}

// inLabels reports whether a key and a pattern for its value contain only characters that label keys and values can
// contain (k8s.io/apimachinery/pkg/util/validation).
func inLabels(key, value string) bool {
	return match.IsAlphanumeric(key, "-_./") && match.IsAlphanumeric(value, "-_.*")
}

// meantLabel returns the end of an error message: the pattern that was probably meant, without spaces around the key
// and the value. It returns an empty string if that pattern is not valid either.
func meantLabel(key, value string, has bool) string {
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if key == "" || !inLabels(key, value) {
		return ""
	}
	meant := labelPattern{key, match.Glob(value), !has}.String()
	return "; write " + text.Truncate(meant, text.Short)
}

// String returns the pattern as it is written in policy files.
func (l labelPattern) String() string {
	if l.anyValue {
		return l.key
	}
	return l.key + "=" + string(l.value)
}

// LabelGlobs returns the labels of a selector as patterns for key=value.
func (sel *Selector) LabelGlobs() []match.Glob { return globsOf(sel.Labels) }

// PodLabelGlobs is like labelGlobs, for podLabels.
func (sel *Selector) PodLabelGlobs() []match.Glob { return globsOf(sel.PodLabels) }

// globsOf returns patterns for labels as patterns for key=value. A key without a value is key=*.
func globsOf(labels []labelPattern) []match.Glob {
	var globs []match.Glob
	for _, l := range labels {
		value := l.value
		if l.anyValue {
			value = "*"
		}
		globs = append(globs, match.Glob(l.key)+"="+value)
	}
	return globs
}
