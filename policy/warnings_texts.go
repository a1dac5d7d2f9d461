package policy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// checkDeniedPaths warns about texts in paths.denied that are written like a pattern or a regular expression. They are
// compared as texts, so /admin* does not deny the path /admin. A text without letters and digits is meant literally.
func (w *entryWarnings) checkDeniedPaths(h *rule.Header, denied []pathPart) {
	for _, p := range denied {
		plain := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(string(p), "^"), "$"), ".*")
		plain = strings.ReplaceAll(plain, "*", "")
		if plain != string(p) && strings.ContainsFunc(plain, isAlphanumeric) {
			w.warn(h, "paths.denied has %s: it is not a pattern, so it denies only paths that contain exactly this text; "+
				"write %s, or use deniedPatterns", text.Quote(string(p)), text.Quote(strings.TrimSuffix(plain, "/")))
		}
	}
}

// checkClasses warns about entries for Ingress classes whose controllers may match * with several labels, if a wildcard
// of one label is allowed in the block.
func (w *entryWarnings) checkClasses(entries []ingressesEntry) {
	oneLabel := func(t match.HostTemplate) bool { return strings.HasPrefix(t.String(), "*.") }
	isWide := func(e ingressesEntry) bool {
		return e.Mode != Off && e.Hosts != nil && !bool(e.Hosts.Wildcards) && slices.ContainsFunc(e.Hosts.Allowed, oneLabel)
	}
	wide := slices.IndexFunc(entries, isWide)
	for i := range entries {
		e, unknown := &entries[i], []match.Glob(nil)
		if e.ClassNames != nil {
			unknown = slices.Clone(e.ClassNames.Allowed)
		}
		if e.Match != nil {
			unknown = append(unknown, e.Match.ClassNames...)
		}
		unknown = slices.DeleteFunc(unknown, w.known.KnowsClass)
		if wide >= 0 && len(unknown) > 0 {
			w.warn(&e.Header, "unknown classes %s: hosts.allowed of %s has a wildcard, which their controllers may serve at "+
				"any depth; add them to globbingClasses, as %s if * is one label", text.List(unknown), entries[wide].Name,
				text.Quote("!"+string(unknown[0])))
		}
	}
}

func isAlphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// checkAnnotationKeys warns about keys that consist only of a prefix. They are compared with whole keys, so they do not
// cover the annotations with this prefix.
func (w *entryWarnings) checkAnnotationKeys(h *rule.Header, rules *annotationRules) {
	if rules == nil {
		return
	}
	keys := slices.Clone(rules.Denied)
	for _, values := range [][]annotationValue{rules.Values, rules.DeniedValues} {
		for i := range values {
			keys = append(keys, values[i].Key)
		}
	}
	for _, key := range keys {
		if isOnlyPrefix(key) {
			prefix := text.Truncate(strings.TrimSuffix(string(key), "/"), object.MaxAnnotationKey)
			w.warn(h, "annotations has the key %s, which does not cover the annotations with this prefix: write %[1]s/*",
				prefix)
		}
	}
}

// isOnlyPrefix reports whether a pattern for keys is the prefix of keys, with or without the slash. Keys without a
// prefix do not contain dots in practice.
func isOnlyPrefix(key match.Glob) bool {
	prefix, name, slash := strings.Cut(string(key), "/")
	return !key.IsWild() && name == "" && (slash || strings.Contains(prefix, "."))
}
