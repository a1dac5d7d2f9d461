package mirrors

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// Verdict is the result of the import of a row.
type Verdict string

// The verdicts. An exact row pulls each generated image first from the same place as before.
const (
	Exact   Verdict = "exact"
	Differs Verdict = "differs"
	Cannot  Verdict = "cannot be imported"
)

// blocked is the place of an image that is not pulled.
const blocked = "blocked"

// Result is the result of the import of a row. Its JSON is an interface.
type Result struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Source  string   `json:"source"`
	Verdict Verdict  `json:"verdict"`
	Written bool     `json:"written"` // the policy contains the row
	Reason  string   `json:"reason,omitempty"`
	Instead string   `json:"instead,omitempty"` // what to do
	Example *Change  `json:"example,omitempty"` // an image that is pulled from another place
	Notes   []string `json:"notes,omitempty"`   // what is lost

	proposals []proposal
}

// Change is an image and the places that it is pulled from with the table and with the policy.
type Change struct {
	Image  string `json:"image"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Importer imports a table.
type Importer struct {
	table   Table
	accept  bool // write rows that differ
	results []Result
	policy  *policy.Policy
	text    string
	owners  map[string][]int // the rows of each entry in the policy
	extra   []string         // excluded names that are not in the table
}

// Import makes a policy of a table. With accept, the policy contains the rows that differ. Import removes rows until
// all other rows are exact.
func Import(t Table, accept bool) (*Importer, error) {
	x := &Importer{table: t, accept: accept, results: make([]Result, len(t))}
	for i := range t {
		r := &t[i]
		proposals, no := r.propose()
		x.results[i] = Result{
			File: r.At.File, Line: r.At.Line, Source: r.name(), Verdict: Exact, Written: true,
			Notes: slices.Concat(r.notes, r.lost()), proposals: proposals,
		}
		if no != nil {
			x.reject(i, no)
		}
	}
	for {
		rejected, err := x.load()
		if err != nil || !rejected && !x.compare() {
			return x, err
		}
	}
}

// name returns the name of the row for users.
func (r *Row) name() string {
	if r.short && r.Prefix == "" {
		return "names without a registry"
	}
	return r.Prefix
}

// lost returns notes about the parts of a row that a policy loses, because it has only the first mirror.
func (r *Row) lost() (notes []string) {
	var others []string
	for _, m := range r.Mirrors[min(1, len(r.Mirrors)):] {
		if m.Place != r.Mirrors[0].Place {
			others = append(others, m.Place)
		}
	}
	if r.Fallback && len(r.Mirrors) > 0 && r.Mirrors[0].Place != r.Prefix {
		others = append(others, "the original registry")
	}
	if len(others) > 0 && !r.short {
		notes = append(notes, "if "+r.Mirrors[0].Place+" fails, images are not pulled from "+strings.Join(others, " or "))
	}
	for _, p := range r.Matches {
		texts, _ := prefixes(p)
		for _, s := range texts {
			switch name := strings.TrimSuffix(s, "/"); {
			case s == registryOf(s):
				notes = append(notes, "the policy does not cover other registries whose name begins with "+s)
			case s != name && name != registryOf(name):
				notes = append(notes, "the policy also covers the image "+name)
			}
		}
	}
	return notes
}

// load writes and loads the policy. It reports whether it has removed rows that Evergate rejects.
func (x *Importer) load() (rejected bool, err error) {
	entries := x.entries()
	x.text, x.owners = writePolicy(entries), map[string][]int{}
	for _, e := range entries {
		x.owners[e.name] = e.rows
	}
	if x.policy, err = policy.Load(policy.File{Name: "policy", Data: []byte(x.text)}); err == nil {
		return false, nil
	}
	position := regexp.MustCompile(`^mirrors\[(\d+)\]`)
	for _, p := range policy.Problems(err) {
		at := position.FindStringSubmatch(p.Path)
		if at == nil && !rejected {
			return false, fmt.Errorf("the policy of the table does not load: %w", err)
		}
		if at == nil {
			break // the number of the other mistakes
		}
		i, _ := strconv.Atoi(at[1])
		for _, row := range entries[i].rows {
			rejected = true
			x.reject(row, &obstacle{p.Message, "change the mirrors, or write these entries by hand"})
		}
	}
	return rejected, nil
}

// reject leaves out a row that cannot be imported.
func (x *Importer) reject(row int, no *obstacle) {
	r := &x.results[row]
	r.Verdict, r.Written, r.Reason, r.Instead, r.Notes = Cannot, false, no.why, no.instead, nil
}

// entry is an entry of the policy.
type entry struct {
	name, mirror, secret string
	sources, excluded    []string
	rows                 []int
}

// entries returns the entries for the rows that are written. Rows with the same mirror share an entry. An entry
// excludes the images below its sources of the rows that are not written, and of rows without a mirror.
func (x *Importer) entries() (all []entry) {
	taken := map[string]bool{}
	for i, r := range x.results {
		if !r.Written {
			continue
		}
		for _, p := range r.proposals {
			secret := x.table[i].pullSecret
			j := slices.IndexFunc(all, func(e entry) bool { return e.mirror == p.mirror && e.secret == secret })
			if j < 0 {
				j = len(all)
				all = append(all, entry{name: nameFor(p.source, taken), mirror: p.mirror, secret: secret})
			}
			e := &all[j]
			e.sources, e.rows = with(e.sources, p.source), with(e.rows, i)
			for _, s := range slices.Concat(p.excluded, x.below(p.source)) {
				e.excluded = with(e.excluded, s)
			}
		}
	}
	x.separate(all)
	return all
}

// separate excludes images that would get the same name at a mirror as images of another entry, because Evergate
// rejects such entries. For example, docker.io at m.example and quay.io at m.example/quay need docker.io/quay to be
// excluded.
func (x *Importer) separate(all []entry) {
	for i := range all {
		e := &all[i]
		for _, below := range all {
			path, is := strings.CutPrefix(below.mirror, e.mirror+"/")
			for _, source := range e.sources {
				if is && !slices.Contains(below.sources, source+"/"+path) {
					e.excluded = with(e.excluded, source+"/"+path)
					x.extra = with(x.extra, source+"/"+path)
				}
			}
		}
	}
}

// with returns a list that contains a value.
func with[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// below returns the images below a source that it must not rewrite.
func (x *Importer) below(source string) (all []string) {
	for i, r := range x.results {
		prefix, isRule := x.table[i].Prefix, len(x.table[i].Matches) > 0
		if !isRule && (!r.Written || len(r.proposals) == 0) && prefix != source && isBelow(place(prefix), source) {
			all = append(all, prefix)
		}
		for _, p := range r.proposals {
			if !r.Written && p.source != source && isBelow(p.source, source) {
				all = append(all, p.source)
			}
		}
	}
	return all
}

// nameFor returns the name of an entry for a source.
func nameFor(source string, taken map[string]bool) string {
	name := regexp.MustCompile(`[^a-z0-9.-]+`).ReplaceAllString(strings.ToLower(source), "-")
	name = name[:min(len(name), 60)] // leaves room for a number in the 63 characters of a name
	for i, base := 2, name; taken[name]; i++ {
		name = base + "-" + strconv.Itoa(i)
	}
	taken[name] = true
	return name
}

// compare compares the table with the policy, and removes the rows that differ. It reports whether it has removed rows.
func (x *Importer) compare() (removed bool) {
	for _, image := range x.images() {
		change, rows := x.Change(image)
		if change == nil {
			continue
		}
		for _, i := range rows {
			if x.results[i].Verdict == Exact {
				removed = x.differ(i, change) || removed
			}
		}
	}
	return removed
}

// differ sets the verdict of a row that differs. It reports whether it has removed the row from the policy.
func (x *Importer) differ(row int, example *Change) (removed bool) {
	r := &x.results[row]
	r.Verdict, r.Example = Differs, example
	switch {
	case x.table[row].short:
		r.Written, r.Reason = false, "Evergate reads a name without a registry as an image of docker.io"
		r.Instead = "write full names in Pods"
	case len(r.proposals) == 0 || !x.accept:
		r.Written, r.Reason, r.Instead = false, "it is not written", "add --accept-differences to write it"
		return true
	}
	return false
}

// Change returns how the policy changes the place from which an image is pulled first, and the rows that cause it. It
// returns nil if the place is the same, or if the text is not an image.
func (x *Importer) Change(image string) (*Change, []int) {
	row, places, err := x.table.Pull(image)
	if err != nil {
		return nil, nil
	}
	before := blocked
	if len(places) > 0 {
		before = places[0]
		if normal, err := normalize(before); err == nil {
			before = normal
		}
	}
	to, by := x.rewrite(image)
	after, err := normalize(to)
	switch {
	case err != nil:
		after = to
	case after == before:
		return nil, nil
	}
	rows := x.owners[by]
	own := slices.IndexFunc(x.table, func(r Row) bool { return row != nil && r.At == row.At && r.Prefix == row.Prefix })
	if own >= 0 && (by == "" || row.short || slices.Contains(rows, own)) {
		rows = []int{own}
	}
	return &Change{image, before, after}, rows
}

// rewrite returns the image that the policy puts into a Pod, and the entry that rewrites it.
func (x *Importer) rewrite(image string) (to, by string) {
	pod := object.Pod{Images: []object.Image{{Name: "app", Ref: image}}}
	rw, err := x.policy.RewritePod(object.Attributes{Operation: object.Create, Resource: "pods"}, &pod, nil, nil)
	if err != nil || !rw.Changes() {
		return image, ""
	}
	return rw.Images[0].To, rw.Images[0].Entry
}

// images returns generated images for each name in the table: the name, and names below it, next to it and above it,
// with a tag, a digest, both and neither. A name with a slash at the end is not an image.
func (x *Importer) images() (all []string) {
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for _, name := range x.names() {
		registry := registryOf(name)
		names := []string{
			registry + "/app", registry + "/library/nginx", registry + "/team/group/app", "a." + registry + "/app",
			"a.b." + registry + "/app", "registry.example/" + strings.TrimSuffix(name, "/") + "/app",
		}
		switch base := place(name); {
		case strings.HasSuffix(name, "/"):
			names = append(names, name+"app", name+"team/app")
		case !strings.ContainsAny(registry, ".:") && registry != "localhost":
			names = []string{name}
		case base != name:
			names = append(names, base)
			all = append(all, name)
		case base != registry:
			names = append(names, name, name+"/app", name+"/team/app", name+"-x/app", name+"-x")
		}
		for _, n := range names {
			for _, version := range []string{"", ":1.25", ":latest", digest, ":1.25" + digest} {
				all = append(all, n+version)
			}
		}
	}
	return all
}

// names returns the names in the table and in the proposals.
func (x *Importer) names() []string {
	all := slices.Clone(x.extra)
	for i := range x.table {
		r := &x.table[i]
		for _, s := range []string{strings.TrimPrefix(r.Prefix, "*."), r.Prefix} {
			if len(r.Matches) == 0 && s != "*" && !strings.HasPrefix(s, "*.") && s != "" {
				all = with(all, s)
			}
		}
		if r.Prefix == "*" || r.short {
			all = with(with(all, "docker.io"), "app")
		}
		for _, m := range r.Mirrors {
			all = with(all, m.Place)
		}
		for _, p := range slices.Concat(r.Matches, r.Excludes) {
			texts, _ := prefixes(p)
			for _, s := range texts {
				all = with(all, strings.TrimRight(s, ":@"))
			}
		}
		for _, p := range x.results[i].proposals {
			if len(r.Matches) == 0 {
				all = with(all, p.source)
			}
		}
	}
	return all
}
