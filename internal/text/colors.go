package text

// Colors is true if text is written in the colors of terminals. If it is false, the methods return text unchanged.
type Colors bool

// Select Graphic Rendition codes of ECMA-48, which all terminals support. The theme that the user chose determines the
// eight colors.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	bold   = "1"
)

// Bad formats text about denials and errors, in red.
func (c Colors) Bad(s string) string { return c.in(red, s) }

// Warn formats text about warnings, in yellow.
func (c Colors) Warn(s string) string { return c.in(yellow, s) }

// Good formats text about valid objects and intended changes, in green.
func (c Colors) Good(s string) string { return c.in(green, s) }

// Note formats text about other information, in cyan.
func (c Colors) Note(s string) string { return c.in(cyan, s) }

// Head formats a heading, in bold.
func (c Colors) Head(s string) string { return c.in(bold, s) }

func (c Colors) in(rendition, s string) string {
	if !c || s == "" {
		return s
	}
	return "\x1b[" + rendition + "m" + s + "\x1b[0m"
}
