package deploy

import (
	"errors"
	"iter"

	"github.com/evergate/evergate/offline"
)

// Read returns an Inventory of the objects that offline.Read yields. The error joins the errors of all objects that
// cannot be read.
func Read(objects iter.Seq2[offline.Object, error]) (*Inventory, error) {
	inv := newInventory()
	var errs []error
	for o, err := range objects {
		if skipped, ok := errors.AsType[*offline.SkippedError](err); ok {
			inv.skips.AddFile(skipped)
			continue
		}
		if err == nil {
			err = inv.add(manifest{source: o.Origin.String(), apiVersion: o.APIVersion, kind: o.Kind, json: o.JSON})
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return inv, errors.Join(errs...)
}
