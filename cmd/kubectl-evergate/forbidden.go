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

// forbidden collects the resources that the user may not list, to report them in one line instead of one error each.
type forbidden struct{ resources []string }

// add records a resource if err means that the user may not list it. It reports whether this is the case.
func (f *forbidden) add(resource string, err error) bool {
	if !live.Forbidden(err) {
		return false
	}
	if !slices.Contains(f.resources, resource) {
		f.resources = append(f.resources, resource)
	}
	return true
}

// err returns the line, or nil if everything may be listed.
func (f *forbidden) err() error {
	if len(f.resources) == 0 {
		return nil
	}
	return fmt.Errorf("left out, because you may not list them: %s "+
		"(docs/plugin.md lists the permissions that each command needs)",
		text.ListUpTo(len(f.resources), f.resources))
}

// grouped yields objects. It combines the errors of all kinds that may not be listed into one error.
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
