package policy

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// matchesUnsafeCharacters is the check paths.unsafeCharacters for headers and query parameters in matches. Controllers
// write them into rules between quotes: Traefik writes Header(`name`, `value`). White space, braces and semicolons are
// safe between quotes, for example in the value of User-Agent. Regular expressions do not need backslashes: [.] can
// replace \. and [0-9] can replace \d.
type matchesUnsafeCharacters struct{}

func (matchesUnsafeCharacters) Find(route *routeView, r *rule.Recorder) {
	for i := range route.Rules {
		for j := range route.Rules[i].Matches {
			m := &route.Rules[i].Matches[j]
			at := pathPlace{kind: routePath, rule: i, match: j}
			if !r.Spend(1) || !unsafeTexts(m.Headers, at, "headers", r) || !unsafeTexts(m.QueryParams, at, "queryParams", r) {
				return
			}
		}
	}
}

// unsafeTexts adds a finding for each name and each value in a list that contains an unsafe character. It reports
// whether the check may continue.
func unsafeTexts(list []object.MatchText, at pathPlace, name string, r *rule.Recorder) bool {
	for i := range list {
		for _, part := range [...]struct{ field, text string }{{"name", list[i].Name}, {"value", list[i].Value}} {
			field, s := part.field, part.text
			if !r.Spend(stepsOfRunes(s)) {
				return false
			}
			id := rule.Identity{Check: "paths.unsafeCharacters", Value: s, Use: field}
			if f := tryAddUnsafe(id, s, isUnsafeInText, r); f != nil {
				f.Path = elementPath(at.routeField(name), int32(i)) + "." + field
			}
		}
	}
	return true
}

// filtersUnsafeCharacters is the check paths.unsafeCharacters for routes and filters.unsafeCharacters for gateways. It
// finds each text of a filter that contains a character that can end its directive in a controller's configuration.
// Gateway API does not limit the characters of most of these texts.
//
// Controllers write header values between quotes, because nginx needs them: proxy_set_header Name "value". In these
// values, only characters that end the quotes are unsafe. White space, braces and semicolons are safe. Controllers
// write header names, hosts and paths without quotes, so characters that are unsafe in a path are unsafe in them too.
type filtersUnsafeCharacters[T any] struct {
	id   string // id of the check
	each eachFilter[T]
}

func (c filtersUnsafeCharacters[T]) Find(obj *T, r *rule.Recorder) {
	for f, place := range c.each(obj, r) {
		for i := range f.Texts {
			t := &f.Texts[i]
			if !r.Spend(stepsOfRunes(t.Value)) {
				return
			}
			isUnsafe := isUnsafeInPath
			if strings.HasSuffix(t.In, ".value") {
				isUnsafe = isUnsafeInText
			}
			id := rule.Identity{Check: c.id, Value: t.Value, Detail: place.name, Use: t.Field + "." + t.In}
			if found := tryAddUnsafe(id, t.Value, isUnsafe, r); found != nil {
				found.Path = place.String() + "." + pathOfText(t)
			}
		}
	}
}

func pathOfText(t *object.FilterText) string {
	return t.Field + "." + strings.Replace(t.In, "[]", "["+strconv.Itoa(int(t.Index))+"]", 1)
}

// sessionsUnsafeCharacters is the check paths.unsafeCharacters for the experimental field
// spec.rules[].sessionPersistence.sessionName. The field is the name of a cookie or header, which controllers write
// without quotes.
type sessionsUnsafeCharacters struct{}

func (sessionsUnsafeCharacters) Find(route *routeView, r *rule.Recorder) {
	for i := range route.Rules {
		s := route.Rules[i].SessionName
		if !r.Spend(stepsOfRunes(s)) {
			return
		}
		id := rule.Identity{Check: "paths.unsafeCharacters", Value: s, Use: "sessionName"}
		if f := tryAddUnsafe(id, s, isUnsafeInPath, r); f != nil {
			f.Path = rulesField + "[" + strconv.Itoa(i) + "].sessionPersistence.sessionName"
		}
	}
}

func stepsOfRunes(s string) int { return 1 + len(s)/4 }

func isUnsafeInText(c rune) bool {
	return c == '"' || c == '`' || c == '\\' || unicode.IsControl(c)
}

func elementPath(list string, i int32) string { return list + "[" + strconv.Itoa(int(i)) + "]" }
