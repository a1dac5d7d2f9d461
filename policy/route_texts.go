package policy

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/evergate/evergate/internal/text"
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
			if !strings.ContainsFunc(s, isUnsafeInText) {
				continue
			}
			if f := r.TryAdd(rule.Identity{Check: "paths.unsafeCharacters", Value: s, Use: field}); f != nil {
				f.Path, f.Reason = elementPath(at.routeField(name), int32(i))+"."+field, unsafeReason(s, isUnsafeInText)
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
			if !strings.ContainsFunc(t.Value, isUnsafe) {
				continue
			}
			id := rule.Identity{Check: c.id, Value: t.Value, Detail: place.name, Use: t.Field + "." + t.In}
			if found := r.TryAdd(id); found != nil {
				found.Path, found.Reason = place.String()+"."+pathOfText(t), unsafeReason(t.Value, isUnsafe)
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
		if !strings.ContainsFunc(s, isUnsafeInPath) {
			continue
		}
		if f := r.TryAdd(rule.Identity{Check: "paths.unsafeCharacters", Value: s, Use: "sessionName"}); f != nil {
			f.Path = rulesField + "[" + strconv.Itoa(i) + "].sessionPersistence.sessionName"
			f.Reason = unsafeReason(s, isUnsafeInPath)
		}
	}
}

func stepsOfRunes(s string) int { return 1 + len(s)/4 }

func unsafeReason(s string, isUnsafe func(rune) bool) string {
	return text.Quote(s) + " contains " + unsafeIn(s, isUnsafe) + getsOut
}

func isUnsafeInText(c rune) bool {
	return c == '"' || c == '`' || c == '\\' || unicode.IsControl(c)
}

func elementPath(list string, i int32) string { return list + "[" + strconv.Itoa(int(i)) + "]" }
