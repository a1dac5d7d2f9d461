package policy

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/evergate/evergate/internal/text"
)

// matchesUnsafeCharacters is paths.unsafeCharacters for the headers and the query parameters of matches, which
// controllers write into rules between quotes: Traefik writes Header(`name`, `value`). White space, braces and
// semicolons are ordinary there, as in the value of User-Agent. Regular expressions need no backslash: [.] is \. and
// [0-9] is \d.
type matchesUnsafeCharacters struct{}

func (matchesUnsafeCharacters) find(route *routeView, r *report) {
	for i := range route.Rules {
		for j := range route.Rules[i].Matches {
			m := &route.Rules[i].Matches[j]
			at := pathPlace{kind: routePath, rule: i, match: j}
			if !r.spend(1) || !unsafeTexts(m.Headers, at, "headers", r) || !unsafeTexts(m.QueryParams, at, "queryParams", r) {
				return
			}
		}
	}
}

// unsafeTexts adds a finding for each name and each value of a list that contains an unsafe character. It reports
// whether the check may continue.
func unsafeTexts(list []MatchText, at pathPlace, name string, r *report) bool {
	for i := range list {
		for _, part := range [...]struct{ field, text string }{{"name", list[i].Name}, {"value", list[i].Value}} {
			field, s := part.field, part.text
			if !r.spend(stepsOfRunes(s)) {
				return false
			}
			if !strings.ContainsFunc(s, isUnsafeInText) {
				continue
			}
			if f := r.tryAdd(identity{check: "paths.unsafeCharacters", value: s, use: field}); f != nil {
				f.Path, f.Reason = elementPath(at.routeField(name), int32(i))+"."+field, unsafeReason(s, isUnsafeInText)
			}
		}
	}
	return true
}

// filtersUnsafeCharacters is paths.unsafeCharacters of routes and filters.unsafeCharacters of gateways: it finds each
// text of a filter that contains a character by which it can end its directive in a controller's configuration. Gateway
// API does not limit the characters of most of these texts.
//
// Controllers write the values of headers between quotes, as nginx needs them: proxy_set_header Name "value". The
// characters that end the quotes are unsafe there; white space, braces and semicolons are ordinary. Controllers write
// names of headers, hosts and paths without quotes, so the characters that are unsafe in a path are unsafe in them too.
type filtersUnsafeCharacters[T any] struct {
	id   string // of the check
	each eachFilter[T]
}

func (c filtersUnsafeCharacters[T]) find(obj *T, r *report) {
	for f, place := range c.each(obj, r) {
		for i := range f.Texts {
			t := &f.Texts[i]
			if !r.spend(stepsOfRunes(t.Value)) {
				return
			}
			isUnsafe := isUnsafeInPath
			if strings.HasSuffix(t.In, ".value") {
				isUnsafe = isUnsafeInText
			}
			if !strings.ContainsFunc(t.Value, isUnsafe) {
				continue
			}
			id := identity{check: c.id, value: t.Value, detail: place.name, use: t.Field + "." + t.In}
			if found := r.tryAdd(id); found != nil {
				found.Path, found.Reason = place.String()+"."+t.path(), unsafeReason(t.Value, isUnsafe)
			}
		}
	}
}

// path returns the field of the text in its filter: requestHeaderModifier.set[2].value.
func (t *FilterText) path() string {
	return t.Field + "." + strings.Replace(t.In, "[]", "["+strconv.Itoa(int(t.Index))+"]", 1)
}

// sessionsUnsafeCharacters is paths.unsafeCharacters for spec.rules[].sessionPersistence.sessionName, an experimental
// field. It is the name of a cookie or of a header, which controllers write without quotes.
type sessionsUnsafeCharacters struct{}

func (sessionsUnsafeCharacters) find(route *routeView, r *report) {
	for i := range route.Rules {
		s := route.Rules[i].SessionName
		if !r.spend(stepsOfRunes(s)) {
			return
		}
		if !strings.ContainsFunc(s, isUnsafeInPath) {
			continue
		}
		if f := r.tryAdd(identity{check: "paths.unsafeCharacters", value: s, use: "sessionName"}); f != nil {
			f.Path = rulesField + "[" + strconv.Itoa(i) + "].sessionPersistence.sessionName"
			f.Reason = unsafeReason(s, isUnsafeInPath)
		}
	}
}

// stepsOfRunes returns how many steps it takes to read a text rune by rune.
func stepsOfRunes(s string) int { return 1 + len(s)/4 }

// unsafeReason returns the sentence about a text with unsafe characters.
func unsafeReason(s string, isUnsafe func(rune) bool) string {
	return text.Quote(s) + " contains " + unsafeIn(s, isUnsafe) + getsOut
}

func isUnsafeInText(c rune) bool {
	return c == '"' || c == '`' || c == '\\' || unicode.IsControl(c)
}
