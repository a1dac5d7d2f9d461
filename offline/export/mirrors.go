package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// mirrorEntry is an entry of mirrors that is active, or that has ended.
type mirrorEntry struct {
	*entry

	sources        []string
	place, written string // of the mirror: in the form of comparisons, and as the policy spells it
	keepRegistry   bool   // the registry of the original image follows the place
	qualify        bool   // short names get their registry; there is no place
	pullSecret     string
	matches        string   // a condition that match covers a Pod; empty without match
	applies        string   // a condition that exclude does not cover a Pod; empty without exclude
	excluded       []string // the patterns of exclude.images
	left           []string // the fields that are not supported
}

// mirrors contains the mirrors entries, and returns expressions that decide like the mirror tables of package policy.
// An entry that has ended does not rewrite images, and the images of its sources have the routes of other entries.
// Images at its mirror still count as images from a mirror.
type mirrors struct {
	all     []*mirrorEntry // the active entries, and the entries that have ended
	active  []*mirrorEntry
	places  []string // the places of the mirrors of all entries
	sources []string // of the active entries, in their order
	routes  map[string][]route
}

// route is a source of an entry and its replacement.
type route struct {
	entry *mirrorEntry
	to    string
}

const dockerHub = "docker.io"

// newMirrors reads the entries of the block mirrors. entries is a result of current.
func newMirrors(entries []*entry) *mirrors {
	m := &mirrors{routes: map[string][]route{}}
	for _, e := range entries {
		if e.Block != "mirrors" || e.Mode == policy.Off && !e.ended {
			continue
		}
		entry := readMirror(e)
		m.all = append(m.all, entry)
		if !e.ended {
			m.active = append(m.active, entry)
		}
		for _, source := range entry.sources {
			m.add(entry, source)
		}
	}
	slices.Sort(m.places)
	m.places = slices.Compact(m.places)
	return m
}

// readMirror takes the fields of an entry.
func readMirror(e *entry) *mirrorEntry {
	fields := cloneFields(e.Fields)
	mirror, match, exclude := blockOf(fields, "mirror"), blockOf(fields, "match"), blockOf(fields, "exclude")
	m := &mirrorEntry{entry: e, keepRegistry: take(mirror, "keepRegistry") != nil, qualify: take(fields, "qualify") != nil}
	m.sources, _ = takeTexts(fields, "sources")
	m.place, _ = take(mirror, "place").(string)
	m.written, _ = take(mirror, "written").(string)
	m.pullSecret, _ = take(fields, "imagePullSecret").(string)
	pods := selector{dimensions: []string{"namespaces", "podLabels"}}
	if match != nil {
		m.matches = pods.takeMatch(match)
	}
	m.applies = pods.takeExclude(exclude)
	m.excluded, _ = takeTexts(exclude, "images")
	m.left = remaining(fields)
	return m
}

// add adds the place of a mirror and, if the entry is active, the route. If entries have the same source, the entries
// with a match come first.
func (m *mirrors) add(e *mirrorEntry, source string) {
	place, written := e.place, e.written
	if e.keepRegistry {
		registry, _, _ := strings.Cut(source, "/")
		place, written = place+"/"+registry, written+"/"+registry
	}
	if e.qualify {
		written = source
	} else {
		m.places = append(m.places, place)
	}
	if e.ended {
		return
	}
	if m.routes[source] == nil {
		m.sources = append(m.sources, source)
	}
	at := len(m.routes[source])
	if e.matches != "" {
		at = 0
	}
	m.routes[source] = slices.Insert(m.routes[source], at, route{e, written})
}

// variables returns the variables that the expressions of mirrors use:
//
//	mirror_places    the places of the mirrors
//	mirror_routes    the routes of each source
//	mirror_matches   for each entry with match, whether it covers the Pod
//	mirror_excludes  for each entry with exclude, whether it covers the Pod
func (m *mirrors) variables() []variable {
	var routes, matches, excludes []string
	for _, source := range m.sources {
		var list []string
		for _, r := range m.routes[source] {
			list = append(list, "{'source':"+str(source)+",'entry':"+str(r.entry.Name)+",'to':"+str(r.to)+"}")
		}
		routes = append(routes, str(source)+":["+strings.Join(list, ",")+"]")
	}
	for _, e := range m.active {
		if e.matches != "" {
			matches = append(matches, str(e.Name)+":"+e.matches)
		}
		if e.applies != "" {
			excludes = append(excludes, str(e.Name)+":!("+e.applies+")")
		}
	}
	object := func(pairs []string) string { return "{" + strings.Join(pairs, ",") + "}" }
	return []variable{{"mirror_places", set(m.places)}, {"mirror_routes", object(routes)},
		{"mirror_matches", object(matches)}, {"mirror_excludes", object(excludes)}}
}

// isMirrored returns a condition that an image is at a mirror, or that the entry of its route excludes it.
func (m *mirrors) isMirrored() string {
	excluded := m.isExcluded()
	if excluded != "false" {
		excluded = m.route() + ".exists(route," + excluded + ")"
	}
	return places("image.name") + ".exists(place,place in variables.mirror_places)||" + excluded
}

// route returns an expression for the list of the route of an image. The list is empty if the image is at a mirror, or
// if no source covers it. The source with the longest place comes first.
func (m *mirrors) route() string {
	matching := ""
	if slices.ContainsFunc(m.active, func(e *mirrorEntry) bool { return e.matches != "" }) {
		matching = ".filter(route,variables.mirror_matches[?route.entry].orValue(true))"
	}
	return cel(`[$places].map(places,places.exists(place,place in variables.mirror_places)?[]
		:places.map(place,variables.mirror_routes[?place].orValue([])).flatten()$matching)
		.map(routes,routes.slice(0,size(routes)>0?1:0))[0]`, "$places", places("image.name"), "$matching", matching)
}

// isExcluded returns a condition that the entry of a route excludes an image. It is "false" if no entry excludes
// images.
func (m *mirrors) isExcluded() string {
	var conditions []string
	if slices.ContainsFunc(m.active, func(e *mirrorEntry) bool { return e.applies != "" }) {
		conditions = append(conditions, "variables.mirror_excludes[?route.entry].orValue(false)")
	}
	for _, e := range m.active {
		if len(e.excluded) > 0 {
			conditions = append(conditions, "route.entry=="+str(e.Name)+"&&("+isCovered(e.excluded)+")")
		}
	}
	return anyOf(conditions...)
}

// rewritten returns an expression for the images in a list that are rewritten, each with the entry that rewrites it,
// and the name and the version of the image that replaces it.
func (m *mirrors) rewritten(list string) string {
	var rewriting []string
	for _, e := range m.active {
		if e.rewrites() {
			rewriting = append(rewriting, e.Name)
		}
	}
	short := ""
	if slices.ContainsFunc(m.active, func(e *mirrorEntry) bool { return e.qualify }) {
		short = "&&(route.to!=route.source||" + isShort + ")" // only qualify keeps images at their source
	}
	// An image that runtimes would read as another image is not rewritten. A name of one part would be another image at
	// Docker Hub.
	valid := `move.name.contains('/')&&size(move.name)-move.name.indexOf('/')-1<=255&&
		(size(move.name)<=255||!move.name.find('^[^/]*').contains('_'))&&size(move.name)+size(move.version)<=1024`
	if slices.ContainsFunc(m.places, func(p string) bool { return strings.HasPrefix(p+"/", dockerHub+"/") }) {
		valid += `&&(!move.name.startsWith('docker.io/')||move.name.substring(10).contains('/'))`
	}
	return cel(`$list.map(image,$route.filter(route,route.entry in $rewriting&&!($excluded)$short).map(route,{
		'path':image.path,'ref':image.ref,'key':image.key,'entry':route.entry,
		'name':route.to+image.name.substring(size(route.source)),
		'version':image.version})).flatten().filter(move,$valid)`, "$list", list,
		"$route", m.route(), "$rewriting", set(rewriting), "$excluded", m.isExcluded(), "$short", short, "$valid", cel(valid))
}
