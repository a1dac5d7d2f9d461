package text

// Colors says whether words are written in the colors of terminals. The zero value writes them as they are.
type Colors bool

// Select Graphic Rendition of ECMA-48, which all terminals know: the eight colors have the theme that their user chose.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	bold   = "1"
)

// Bad writes what is denied or wrong, in red.
func (c Colors) Bad(s string) string { return c.in(red, s) }

// Warn writes what is warned of, in yellow.
func (c Colors) Warn(s string) string { return c.in(yellow, s) }

// Good writes what is right or changed as wanted, in green.
func (c Colors) Good(s string) string { return c.in(green, s) }

// Note writes what is worth knowing, in cyan.
func (c Colors) Note(s string) string { return c.in(cyan, s) }

// Head writes a heading, in bold.
func (c Colors) Head(s string) string { return c.in(bold, s) }

func (c Colors) in(rendition, s string) string {
	if !c || s == "" {
		return s
	}
	return "\x1b[" + rendition + "m" + s + "\x1b[0m"
}
