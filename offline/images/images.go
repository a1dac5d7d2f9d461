// Package images lists images with their results under a policy, for users and for programs that copy the images.
package images

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

// Row is an image with one result. An image can have several results, for example in different namespaces.
type Row struct {
	Name   string // with its registry; in quotes if it is not an image reference
	Target string // the image that is, or would be, pulled instead; empty if the image stays the same or is denied
	Entry  string // the mirrors entry that covers it; may be empty
	Result string
	First  string // the first object with the image, in the order of the input: Deployment team-a/web
}

// List contains the images of objects.
type List struct {
	*offline.Report
	Rows     []Row    // without duplicates, by name and target
	Problems []string // images that are malformed or denied, or that a format cannot express
}

// New returns the images of objects. For Pods that have been rewritten, these are the original images.
func New(o offline.Options, objects iter.Seq2[offline.Object, error]) *List {
	o.Pulled, o.Recorded = true, true
	l, seen := &List{Report: offline.Review(o, objects)}, map[Row]bool{}
	for _, result := range l.Results {
		object := offline.Reference(result.Kind, result.Namespace, result.Name)
		denials := map[string]string{} // by the path of the image
		for _, f := range result.Findings {
			if (f.Effect == offline.Denial || f.PodsDenied) && denials[f.Path] == "" {
				denials[f.Path] = "denied by " + f.ID + ": " + f.Message
			}
		}
		for _, image := range result.Images {
			row := Row{text.Quote(image.Image), image.To, image.Entry, image.Why, ""}
			if full, err := o.Policy.FullImage(image.Image); err == nil {
				row.Name = full
			}
			denial := denials[image.Path]
			if denial != "" || row.Target == row.Name { // qualify keeps the registry
				row.Target, row.Result = "", cmp.Or(denial, row.Result)
			}
			if seen[row] {
				continue
			}
			seen[row] = true
			row.First = object
			l.Rows = append(l.Rows, row)
			if denial != "" || image.Outcome == policy.Malformed.String() {
				l.Problems = append(l.Problems, object+": "+row.Name+": "+row.Result)
			}
		}
	}
	slices.SortFunc(l.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Result, b.Result))
	})
	return l
}

// Write writes the list in a format: text has at most limit images, and the others are for programs that copy images.
// They contain each target once, as pairs, as a configuration of regclient's regsync (ConfigSync in its
// cmd/regsync/root/config.go), or as a manifest for Hauler v2.0.1 (Image in its pkg/apis/hauler.cattle.io/v1/image.go).
func (l *List) Write(w io.Writer, format string, limit int) error {
	if format == "text" {
		return output.Write(w, output.Text, l, output.Options{Limit: limit})
	}
	form := map[string]struct{ head, row string }{ // references need no escapes
		"pairs":   {"", "%s\t%s\n"},
		"regsync": {"version: 1\nsync:\n", "- {source: \"%s\", target: \"%s\", type: image}\n"},
		"hauler": {"apiVersion: content.hauler.cattle.io/v1\nkind: Images\nmetadata: {name: mirrors}\nspec:\n  images:\n",
			"  - {name: \"%s\", rewrite: \"%s\"}\n"},
	}[format]
	b, seen := bytes.NewBufferString(form.head), map[string]bool{"": true}
	for _, row := range l.Rows {
		switch {
		case seen[row.Target]: // the policy lists several sources in one entry, so they have the same content
		case format == "hauler" && strings.Contains(row.Target, "@"): // rewriteReference in cmd/hauler/cli/store/add.go
			l.Problems = append(l.Problems, row.First+": "+row.Name+": Hauler cannot rename an image with a digest")
		default:
			fmt.Fprintf(b, form.row, row.Name, row.Target)
		}
		seen[row.Target] = true
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteText writes the images up to the limit of p, or all without a limit, and the skipped objects.
func (l *List) WriteText(p *output.Printer) {
	limit := cmp.Or(max(p.Limit, 0), len(l.Rows))
	table := [][]output.Cell{{{Text: "image"}, {Text: "target"}, {Text: "result"}, {Text: "first object"}}}
	for _, row := range l.Rows[:min(limit, len(l.Rows))] {
		table = append(table, []output.Cell{{Text: row.Name}, {Text: row.Target}, {Text: row.Result}, {Text: row.First}})
	}
	p.Table(table, nil)
	if more := len(l.Rows) - limit; more > 0 {
		p.Line("and %s: --limit 0 lists all", text.Count(more, "more image"))
	}
	p.WriteString(strings.Join(append(l.Lines(), ""), "\n"))
}
