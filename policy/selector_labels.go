package policy

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

// UnmarshalText parses key and key=value. A pattern with a character that no label has is an error, since it matches
// nothing: an exclude by "app = x" or "app!=x" would exempt nothing, and a match would apply to nothing.
func (l *labelPattern) UnmarshalText(b []byte) error {
	key, value, has := strings.Cut(string(b), "=")
	if key == "" || strings.Contains(key, "*") {
		return fmt.Errorf("%s is not a label: write key or key=value", text.Quote(b))
	}
	if err := match.RefuseControl(b, "pattern"); err != nil {
		return err
	}
	if !inLabel(key, "/") || !inLabel(value, "*") {
		return fmt.Errorf("%s matches no label: key and value are written with letters, digits, - _ and ., a key also with /"+
			"%s", text.Quote(b), meantLabel(key, value, has))
	}
	*l = labelPattern{key, match.Glob(value), !has}
	return nil
}

// inLabel reports whether s has no other bytes than keys and values of labels have
// (k8s.io/apimachinery/pkg/util/validation), and those in extra.
func inLabel(s, extra string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_."+extra, r)
	})
}

// meantLabel ends a sentence with the pattern that was probably meant: the same without spaces around key and value.
func meantLabel(key, value string, has bool) string {
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if key == "" || !inLabel(key, "/") || !inLabel(value, "*") {
		return ""
	}
	meant := labelPattern{key, match.Glob(value), !has}.String()
	return "; write " + text.Truncate(meant, text.Short)
}

// String returns the pattern as policy files have it.
func (l labelPattern) String() string {
	if l.anyValue {
		return l.key
	}
	return l.key + "=" + string(l.value)
}
