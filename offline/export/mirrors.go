package export

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// mirrors contains the active mirrors entries, and returns expressions that decide like the mirror tables of package
// policy. An entry that has ended does not rewrite images, and the images of its sources have the routes of other
// entries. Images at its mirror still count as images from a mirror.
type mirrors struct {
	all     []*policy.Entry // the active entries, and the entries that have ended
	entries []*policy.Entry // the active entries
	ends    []string        // the places of the mirrors of all entries
	sources []string        // of the active entries, in their order
	routes  map[string][]route
}

// route is a source of an entry and its replacement.
type route struct {
	entry, to string
}

const (
	dockerHub = "docker.io"
	maxPath   = 255 // in the grammar of references
)

// newMirrors selects the entries of the block mirrors. entries is a result of current.
func newMirrors(entries []policy.Entry) *mirrors {
	m := &mirrors{routes: map[string][]route{}}
	for i := range entries {
		e := &entries[i]
		if e.Block != "mirrors" || e.Mode == policy.Off && !hasEnded(e) {
			continue
		}
		m.all = append(m.all, e)
		if !hasEnded(e) {
			m.entries = append(m.entries, e)
		}
		for _, source := range texts(e.Fields["sources"]) {
			m.add(e, source)
		}
	}
	slices.Sort(m.ends)
	m.ends = slices.Compact(m.ends)
	return m
}

// add adds the end of a route and, if the entry is active, the route. If entries have the same source, the entries with
// a match come first.
func (m *mirrors) add(e *policy.Entry, source string) {
	mirror := blockOf(e, "mirror")
	place, _ := mirror["place"].(string)
	written, _ := mirror["written"].(string)
	registry, _, _ := strings.Cut(source, "/")
	if mirror["keepRegistry"] != nil {
		place, written = place+"/"+registry, written+"/"+registry
	}
	m.ends = append(m.ends, place)
	if hasEnded(e) {
		return
	}
	r := route{entry: e.Name, to: written}
	if m.routes[source] == nil {
		m.sources = append(m.sources, source)
	}
	if e.Fields["match"] == nil {
		m.routes[source] = append(m.routes[source], r)
	} else {
		m.routes[source] = slices.Insert(m.routes[source], 0, r)
	}
}

// rewritesDockerHub returns the entry in mode enforce that has the source docker.io and no match, or an empty name.
func (m *mirrors) rewritesDockerHub() string {
	for _, e := range m.entries {
		if e.Mode == policy.Enforce && e.Fields["match"] == nil && slices.Contains(texts(e.Fields["sources"]), dockerHub) {
			return e.Name
		}
	}
	return ""
}

// conditional reports whether an entry has a match.
func (m *mirrors) conditional() bool {
	return slices.ContainsFunc(m.entries, func(e *policy.Entry) bool { return e.Fields["match"] != nil })
}

// excluding reports whether an entry has an exclude.
func (m *mirrors) excluding() bool {
	return slices.ContainsFunc(m.entries, func(e *policy.Entry) bool { return e.Fields["exclude"] != nil })
}

// variables returns the variables that decided and moved use.
func (m *mirrors) variables(s side, rewrites func(*policy.Entry) bool) []variable {
	vars := []variable{{"ends", set(m.ends)}, {"routes", m.table()}, {"mirrors", m.perMirror(rewrites)}}
	if m.conditional() {
		vars = append(vars, variable{"matched" + s.suffix(), m.perEntry(func(e *policy.Entry) string {
			return selects(&policy.Entry{Fields: policy.Fields{"match": e.Fields["match"]}}, s, "")
		})})
	}
	if m.excluding() {
		vars = append(vars, variable{"excluded" + s.suffix(), m.perEntry(func(e *policy.Entry) string {
			return "!(" + selects(&policy.Entry{Fields: policy.Fields{"exclude": e.Fields["exclude"]}}, s, "") + ")"
		})})
	}
	return vars
}

// perEntry returns an expression for a map from entry names to conditions.
func (m *mirrors) perEntry(condition func(*policy.Entry) string) string {
	var pairs []string
	for _, e := range m.entries {
		pairs = append(pairs, str(e.Name)+":"+condition(e))
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// table returns an expression for a map from sources to their routes. A route is a list of the source, the name of an
// entry and the replacement.
func (m *mirrors) table() string {
	var pairs []string
	for _, source := range m.sources {
		var list []string
		for _, r := range m.routes[source] {
			list = append(list, "["+str(source)+","+str(r.entry)+","+str(r.to)+"]")
		}
		pairs = append(pairs, str(source)+":["+strings.Join(list, ",")+"]")
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// perMirror returns an expression for a map from entry names to three values: whether the entry rewrites, the maximum
// length of the path of a rewritten image, and the pull secret.
func (m *mirrors) perMirror(rewrites func(*policy.Entry) bool) string {
	return m.perEntry(func(e *policy.Entry) string {
		mirror := blockOf(e, "mirror")
		place, _ := mirror["place"].(string)
		longest, mode := maxPath, ""
		if registry, _, _ := strings.Cut(place, "/"); strings.Contains(registry, "_") {
			longest -= len(registry) + 1 // in the grammar it is the first segment of the path
		}
		if rewrites(e) {
			mode = "y"
		}
		secret, _ := e.Fields["imagePullSecret"].(string)
		return "['" + mode + "','" + number(longest) + "'," + str(secret) + "]"
	})
}

// decided returns an expression that adds fields to each reference in a list. at is set if the image is at a mirror.
// If a source covers the image, excluded is set if the entry excludes it, and to is the image that replaces it.
func (m *mirrors) decided(list string, s side, keep ...string) string {
	return m.routed(list, s, keptFields(append(keep, "name", "version", "ok"))+"'at':size(r)>1&&r[0]==''?'y':'',"+
		"'to':"+choose("r[0]==''", "''", m.target())+
		",'excluded':"+allOf("r[0]!=''", cmp.Or(m.excludes(s), "false"))+"?'y':''")
}

// moved returns an expression for the references in a list that are rewritten. to is the image that replaces a
// reference, and entry is the entry that rewrites it.
func (m *mirrors) moved(list string, s side, rewrites func(*policy.Entry) bool, keep ...string) string {
	stays := []string{"r[0]==''", m.excludes(s)}
	if slices.ContainsFunc(m.entries, func(e *policy.Entry) bool { return !rewrites(e) }) {
		stays = append(stays, "variables.mirrors[r[1]][0]==''")
	}
	return m.routed(list, s, keptFields(keep)+"'entry':r[0]==''?'':r[1],'to':"+choose(anyOf(stays...), "''", m.target())) +
		".filter(x,x.to!='')"
}

// routed returns an expression that maps each reference in a list to a map of fields. In fields, r is the route of x.
// It contains three empty strings if the image is at a mirror, and one empty string if no route covers the image.
func (m *mirrors) routed(list string, s side, fields string) string {
	matched := ""
	if m.conditional() {
		matched = ".filter(r,variables.matched" + s.suffix() + "[r[1]])"
	}
	// An image is at a mirror if one of its places is the place of a mirror. It then does not have a route.
	found := bind("p", places("x.name")+".filter(a,a in variables.ends||a in variables.routes)",
		"size(p)==0?[]:p.exists(a,a in variables.ends)?[['','','']]:p.map(a,variables.routes[a]"+matched+").flatten()")
	return list + ".map(x," + bind("r", "x.ok==''?['']:"+bind("c", found, "size(c)>0?c[0]:['']"), "{"+fields+"}") + ")"
}

// target returns an expression for the image that replaces x by the route r. It is empty if runtimes would parse the
// result as another image.
func (m *mirrors) target() string {
	// In 200 characters, no part is too long: even maxPath minus the registry is longer than the rest of the image.
	fits := []string{"t.contains('/')", "size(t)<=200||size(t)-t.indexOf('/')-1<=int(variables.mirrors[r[1]][1])&&" +
		"size(t)+size(x.version)<=1024"}
	if m.toHub() {
		fits = append(fits, "!t.startsWith('docker.io/')||t.substring(10).contains('/')")
	}
	return bind("t", "r[2]+x.name.substring(size(r[0]))", allOf(fits...)+"?t+x.version:''")
}

// toHub reports whether a mirror is at Docker Hub. A name of one part would be another image there.
func (m *mirrors) toHub() bool {
	return slices.ContainsFunc(m.ends, func(end string) bool { return strings.HasPrefix(end+"/", dockerHub+"/") })
}

// excludes returns a condition that the entry of the route r excludes x. It is empty if no entry excludes images.
func (m *mirrors) excludes(s side) string {
	if !m.excluding() {
		return ""
	}
	var conditions []string
	for _, e := range m.entries {
		if images := imagesOf(e); len(images) > 0 {
			conditions = append(conditions, "r[1]=="+str(e.Name)+"&&("+isCovered(images)+")")
		}
	}
	return anyOf("variables.excluded"+s.suffix()+"[r[1]]", anyOf(conditions...))
}
