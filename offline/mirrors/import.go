package mirrors

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// maxLine is the maximum length of a line about a row or an image, in bytes. It has place for three long images.
const maxLine = 1000

// The verdicts about a row. An exact row pulls each generated image first from the same place as before.
const (
	Exact   = "exact"
	Differs = "differs"
	Cannot  = "cannot be imported"
)

// Change is an image and the places that it is pulled from with the table and with the policy.
type Change struct {
	Image  string `json:"image"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Report is the result of an import. Its JSON is an interface.
type Report struct {
	Rows    Table    `json:"rows"`
	Checked int      `json:"checkedImages"`
	Changes []Change `json:"changedImages"`    // of the checked images
	Errors  []string `json:"errors,omitempty"` // objects whose images are not known
}

// entry is an entry of the policy.
type entry struct {
	Name    string              `yaml:"name"`
	Sources []string            `yaml:"sources,flow"`
	Mirror  string              `yaml:"mirror"`
	Secret  string              `yaml:"imagePullSecret,omitempty"`
	Exclude map[string][]string `yaml:"exclude,flow,omitempty"`
	Mode    string              `yaml:"mode"`

	rows []int
}

// Importer imports a table.
type Importer struct {
	table   Table
	accept  bool           // write rows that differ
	rows    map[string]int // of each prefix
	entries []*entry
	policy  *policy.Policy
}

// Import makes a policy of a table. With accept, the policy contains the rows that differ. Import sets the verdict of
// each row, and leaves out rows until all other rows are exact.
func Import(t Table, accept bool) (*Importer, error) {
	x := &Importer{t, accept, map[string]int{}, nil, nil}
	users := map[string]*Row{} // of each mirror
	for i := range t {
		if r := &t[i]; r.Prefix == "*" {
			users[r.mirror()] = r // it sends the name of every registry
		}
	}
	for i := range t {
		r := &t[i]
		if r.rule == nil {
			x.rows[r.Prefix] = i
		}
		switch other := users[r.mirror()]; {
		case r.Reason != "":
			r.reject(r.Reason)
		case len(r.Mirrors) == 0 && !r.Fallback:
			r.reject("the mirrors block does not block images: add a pods entry with images.denied")
		case r.mirror() == "":
			r.Verdict = Exact
		case other != nil && r.perHost && registryOf(other.Prefix) != registryOf(r.Prefix):
			for _, r := range []*Row{other, r} {
				r.reject("the mirror has several registries, and receives the name of one: give each registry a path")
			}
		case strings.HasPrefix(r.Prefix, "*"):
			r.reject("the mirror replaces each registry that it covers: list the registries")
		default:
			r.Verdict, users[r.mirror()] = Exact, r
		}
	}
	for {
		x.propose()
		rejected, err := x.load()
		if err != nil || !rejected && !x.compare() {
			return x, err
		}
	}
}

// reject leaves out a row that cannot be imported.
func (r *Row) reject(why string) { r.Verdict, r.Example, r.Reason = Cannot, nil, why }

// mirror returns the mirror of a policy for the row. It is empty if images are pulled from their registry.
func (r *Row) mirror() string {
	if len(r.Mirrors) == 0 || r.Mirrors[0].Place == r.Prefix {
		return ""
	}
	return place(r.Mirrors[0].Place)
}

// writes reports whether the policy contains a row.
func (x *Importer) writes(r *Row) bool {
	return r.mirror() != "" && (r.Verdict == Exact || r.Verdict == Differs && x.accept)
}

// propose makes the entries for the rows that are written. Rows with the same mirror share an entry. An entry excludes
// the images below its sources of rows that are not written.
func (x *Importer) propose() {
	x.entries = nil
	byMirror, bySource := map[string]*entry{}, map[string]*entry{}
	for i := range x.table {
		r := &x.table[i]
		if !x.writes(r) {
			continue
		}
		source, key := place(r.Prefix), r.mirror()+" "+r.secret
		e := byMirror[key]
		if e == nil {
			name := strings.NewReplacer("/", "-", ":", "-", "_", "-").Replace(strings.ToLower(source))
			e = &entry{Name: fmt.Sprintf("%.50s-%d", name, len(byMirror)+1), Mirror: r.mirror(), Secret: r.secret}
			e.Exclude, e.Mode = map[string][]string{}, "enforce"
			byMirror[key], x.entries = e, append(x.entries, e)
		}
		bySource[source] = e
		e.Sources, e.rows = append(e.Sources, source), append(e.rows, i)
		if len(r.excluded) > 0 {
			e.Exclude["images"] = append(e.Exclude["images"], r.excluded...)
		}
	}
	for i := range x.table {
		r := &x.table[i]
		for _, at := range covering(r.Prefix) {
			e := bySource[at]
			if e != nil && at != r.Prefix && !x.writes(r) && !slices.Contains(e.Exclude["images"], r.Prefix) {
				e.Exclude["images"] = append(e.Exclude["images"], r.Prefix)
			}
		}
	}
}

// load loads the policy. It reports whether it has left out rows that Evergate rejects.
func (x *Importer) load() (rejected bool, err error) {
	if x.policy, err = policy.Load(policy.File{Name: "policy.yaml", Data: []byte(x.Policy())}); err == nil {
		return false, nil
	}
	for _, p := range policy.Problems(err) {
		var i int
		if _, other := fmt.Sscanf(p.Path, "mirrors[%d]", &i); other != nil {
			continue // the number of the other mistakes
		}
		for _, row := range x.entries[i].rows {
			x.table[row].reject(p.Message)
			rejected, err = true, nil
		}
	}
	return rejected, err
}

// Policy returns the policy. A comment above each entry lists its rows, and the difference of a row that differs.
func (x *Importer) Policy() string {
	var b strings.Builder
	b.WriteString("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n")
	for i, e := range x.entries {
		if i == 0 {
			b.WriteString("mirrors:\n")
		}
		for _, row := range e.rows {
			b.WriteString("# " + x.table[row].String() + "\n")
		}
		data, _ := yaml.Marshal([]*entry{e}) // strings can be encoded
		b.Write(data)
	}
	return b.String()
}

// compare compares the table with the policy for generated images, and finds the rows that differ. It reports whether
// it has left out rows.
func (x *Importer) compare() (removed bool) {
	for _, image := range x.table.examples() {
		change, rows := x.change(image)
		for _, i := range rows {
			if r := &x.table[i]; r.Verdict == Exact {
				removed = removed || x.writes(r) && !x.accept
				r.Verdict, r.Example = Differs, change
			}
		}
	}
	return removed
}

// examples returns images for each place in the table: the place, and images below it, next to it and above it, with a
// tag, a digest, both and neither.
func (t Table) examples() (all []string) {
	places := []string{dockerHub}
	for _, r := range t {
		places = append(append(places, r.Prefix), r.excluded...)
		for _, m := range r.Mirrors {
			places = append(places, m.Place)
		}
	}
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for _, s := range places {
		s = strings.TrimLeft(s, "*.")
		base, registry := place(s), registryOf(s)
		host, _, _ := strings.Cut(registry, ":")
		names := []string{base + "/app", base + "/library/nginx", base + "/team/group/app", "a." + registry + "/app",
			"a.b." + registry + "/app", "registry.example/" + base + "/app", host + "/app"}
		if base != registry {
			names = append(names, base, base+"-x", base+"-x/app", registry+"/app")
		}
		for _, n := range names {
			all = append(all, n, n+":1.25", n+digest, n+":1.25"+digest, n+s[len(base):])
		}
	}
	return all
}

// change returns how the policy changes the place from which an image is pulled first, and the rows that cause it. It
// returns nil if the place is the same, or if the text is not an image.
func (x *Importer) change(image string) (*Change, []int) {
	after := normalize(image)
	before, own := x.table.pull(x.rows, image, after)
	rows := []int{own}
	pod := object.Pod{Images: []object.Image{{Name: "app", Ref: image}}}
	rw, err := x.policy.RewritePod(object.Attributes{Operation: object.Create, Resource: "pods"}, &pod, nil, nil)
	if err == nil && rw.Changes() {
		after = normalize(rw.Images[0].To)
		by := slices.IndexFunc(x.entries, func(e *entry) bool { return e.Name == rw.Images[0].Entry })
		if !slices.Contains(x.entries[by].rows, own) {
			rows = x.entries[by].rows
		}
	}
	if before == after {
		return nil, nil
	}
	return &Change{image, before, after}, rows
}

// Report returns the report of the import. The images of objects are checked, each once.
func (x *Importer) Report(objects iter.Seq2[offline.Object, error]) *Report {
	list := offline.Review(offline.Options{Policy: x.policy, Namespace: "default", Pulled: true, Recorded: true}, objects)
	r, seen := &Report{Rows: x.table, Changes: []Change{}, Errors: list.Errors}, map[string]bool{}
	for _, result := range list.Results {
		for _, image := range result.Images {
			if change, _ := x.change(image.Image); change != nil && !seen[image.Image] {
				r.Changes = append(r.Changes, *change)
			}
			seen[image.Image] = true
		}
	}
	r.Checked = len(seen)
	slices.SortFunc(r.Changes, func(a, b Change) int { return strings.Compare(a.Image, b.Image) })
	return r
}

// IsExact reports whether all rows are exact and no checked image changes.
func (r *Report) IsExact() bool {
	return len(r.Changes) == 0 && !slices.ContainsFunc(r.Rows, func(r Row) bool { return r.Verdict != Exact })
}

// WriteText implements output.Report.
func (r *Report) WriteText(p *output.Printer) {
	counts := map[string]int{}
	for _, row := range r.Rows {
		counts[row.Verdict]++
		p.Line("%s", row.String())
	}
	p.Line("%s: %d exact, %d different, %d that cannot be imported", text.Count(len(r.Rows), "row"), counts[Exact],
		counts[Differs], counts[Cannot])
	for _, c := range r.Changes {
		p.Line("%s", c.String())
	}
	if r.Checked > 0 {
		p.Line("%s checked, %s pulled from another place", text.Count(r.Checked, "image"), text.Thousands(len(r.Changes)))
	}
}

// String returns the result of a row in one line.
func (r *Row) String() string {
	s := r.At + ": " + text.Name(r.Prefix) + ": " + r.Verdict
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	if r.Example != nil {
		s += ": " + r.Example.String()
	}
	if r.mirror() != "" && r.Verdict != Cannot && (r.Fallback || len(r.Mirrors) > 1) {
		s += ", without fallback"
	}
	return text.Printable(s, maxLine)
}

// String returns both places in one line, with short digests.
func (c *Change) String() string {
	s := c.Image + " was pulled from " + c.Before + ", and is pulled from " + c.After
	return text.Printable(regexp.MustCompile(`(sha256:[0-9a-f]{6})[0-9a-f]+`).ReplaceAllString(s, "$1…"), maxLine)
}
