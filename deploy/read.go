package deploy

import (
	"errors"
	"iter"

	"github.com/evergate/evergate/offline"
)

// Read makes an Inventory of objects, as offline.Read yields them. The error joins everything that is not understood.
func Read(objects iter.Seq2[offline.Object, error]) (*Inventory, error) {
	inv := newInventory()
	var errs []error
	for o, err := range objects {
		if _, skipped := errors.AsType[*offline.SkippedError](err); skipped {
			continue // it holds no manifests
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
