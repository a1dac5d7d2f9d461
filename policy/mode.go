package policy

import (
	"fmt"

	"github.com/evergate/evergate/internal/text"
)

// Mode is the stage of its roll-out that an entry of a policy is in. Each stage adds to the one before it, so
// that a rule can be watched before it bites.
type Mode uint8

// The modes, in the order of a roll-out.
const (
	Off     Mode = iota // the entry is checked for errors and otherwise ignored
	Audit               // findings go into audit annotations and metrics
	Warn                // and the user is warned; images are not rewritten
	Enforce             // the request is denied; images are rewritten
)

var modeNames = [...]string{Off: "off", Audit: "audit", Warn: "warn", Enforce: "enforce"}

// String returns the word that stands in the policy file.
func (m Mode) String() string { return modeNames[m] }

// UnmarshalText accepts the words off, audit, warn and enforce.
func (m *Mode) UnmarshalText(b []byte) error {
	for i, name := range modeNames {
		if name == string(b) {
			*m = Mode(i)
			return nil
		}
	}
	return fmt.Errorf("%s is not a mode: write off, audit, warn or enforce", text.Quote(b))
}
