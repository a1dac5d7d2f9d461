package policy

import (
	"strconv"
	"strings"
)

// listed is how many values a sentence names before it counts: more than a handful is not read, and a warning has
// room for some 120 characters.
const listed = 5

// listing names values in a sentence: "a", "a, b, c", or, when there are more than five, the first five and a count:
// "a, b, c, d, e and 7 more". Values that come from an object must have been quoted by the caller.
func listing[S ~string](values []S) string {
	var b strings.Builder
	for i, v := range values[:min(len(values), listed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(v))
	}
	if more := len(values) - listed; more > 0 {
		b.WriteString(" and " + strconv.Itoa(more) + " more")
	}
	return b.String()
}
