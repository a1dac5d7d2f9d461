package offline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
)

// IgnoreFile is the name of a file with patterns. Files in its directory and below that match a pattern are not read.
const IgnoreFile = ".evergateignore"

// Ignore is a list of patterns for files in directories. The grammar is the grammar of .gitignore, without !:
//
//	*.yaml         files and directories with this name, at any depth
//	/out, a/b      files and directories at this path, relative to the directory of the patterns
//	charts/        only directories, with everything in them
//	a/**/b         ** matches any number of directories
//	# comment      empty lines are allowed too; \# begins a name
//
// In a name, * matches any characters, ? matches one character, [a-z] matches one of these characters, and \ escapes
// the next character.
type Ignore struct{ patterns []ignorePattern }

type ignorePattern struct {
	glob    string // of a whole path
	dirOnly bool
}

// ParseIgnore parses patterns, one per line.
func ParseIgnore(lines []string) (*Ignore, error) {
	ig := &Ignore{}
	for i, line := range lines {
		glob := strings.TrimRight(line, " \r\n")
		if glob == "" || glob[0] == '#' {
			continue
		}
		glob, dirOnly := strings.CutSuffix(glob, "/")
		bad := line[0] == '!' || strings.Contains("/"+strings.TrimPrefix(glob, "/")+"/", "//")
		if !strings.Contains(glob, "/") {
			glob = "**/" + glob
		} else if strings.HasSuffix(glob, "/**") {
			glob += "/*" // everything in a directory, but not the directory
		}
		// Alternatives in braces would take exponential time, and [!a] would match a slash.
		glob = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, `\[`, `\[`, "{", `\{`, "}", `\}`, "[!", "[!/",
			"[^", "[^/").Replace(strings.TrimPrefix(glob, "/"))
		if bad || !doublestar.ValidatePattern(glob) {
			return nil, fmt.Errorf("line %d: %s is not a pattern: write names with *, ? and [a-z] between slashes",
				i+1, text.Quote(line))
		}
		ig.patterns = append(ig.patterns, ignorePattern{glob, dirOnly})
	}
	return ig, nil
}

// maxIgnoreFile limits a file with patterns, in bytes, because each path is compared with all of them.
const maxIgnoreFile = 64 << 10

// match reports whether a pattern matches a path, which has slashes. A nil Ignore has no patterns.
func (ig *Ignore) match(name string, dir bool) bool {
	return ig != nil && slices.ContainsFunc(ig.patterns, func(p ignorePattern) bool {
		return (dir || !p.dirOnly) && doublestar.MatchUnvalidated(p.glob, name)
	})
}

// ignores are the patterns of a directory and of the directories below it.
type ignores struct {
	flags *Ignore            // from the command line
	files map[string]*Ignore // by the directory of the file
}

// enter reads the patterns of a directory below root, if it has any.
func (is *ignores) enter(root *os.Root, dir string) error {
	data, err := input.ReadIn(root, path.Join(dir, IgnoreFile), maxIgnoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ig := &Ignore{}
	if err == nil {
		ig, err = ParseIgnore(slices.Collect(strings.SplitSeq(string(data), "\n")))
	}
	if err != nil {
		return Origin{File: IgnoreFile}.fileError(err)
	}
	is.files[dir] = ig
	return nil
}

// ignored reports whether a pattern on the command line, or of a directory above, matches a path below the root.
func (is *ignores) ignored(name string, dir bool) bool {
	for above := path.Dir(name); above != "."; above = path.Dir(above) {
		if is.files[above].match(strings.TrimPrefix(name, above+"/"), dir) {
			return true
		}
	}
	return is.files["."].match(name, dir) || is.flags.match(name, dir)
}
