package main

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
)

// forbidden collects what the user may not list, so that it is reported in one line instead of an error for each.
type forbidden struct{ resources []string }

// add notes a resource, and reports whether an error says that it may not be listed.
func (f *forbidden) add(resource string, err error) bool {
	if !live.Forbidden(err) {
		return false
	}
	if !slices.Contains(f.resources, resource) {
		f.resources = append(f.resources, resource)
	}
	return true
}

// err returns the line; nil if everything may be listed.
func (f *forbidden) err() error {
	if len(f.resources) == 0 {
		return nil
	}
	return fmt.Errorf("left out, because you may not list them: %s "+
		"(docs/plugin.md has the rights that each command needs)",
		text.ListUpTo(len(f.resources), f.resources))
}

// grouped yields objects, and the errors of all kinds that may not be listed as one.
func grouped(objects iter.Seq2[offline.Object, error]) iter.Seq2[offline.Object, error] {
	return func(yield func(offline.Object, error) bool) {
		var f forbidden
		for object, err := range objects {
			if err != nil {
				if resource, _, _ := strings.Cut(err.Error(), ": "); f.add(resource, err) {
					continue
				}
			}
			if !yield(object, err) {
				return
			}
		}
		if err := f.err(); err != nil {
			yield(offline.Object{}, err)
		}
	}
}
