package policy

import (
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// Recorded returns a copy of a Pod with the original images from its record and without the record. An entry of the
// record counts only if one of the policies rewrites the original image to the Pod's current image. An image that was
// changed later leaves an entry that does not count. stale is the number of entries that do not count. Recorded is only
// for reports, because tenants can write the record. If the Pod does not have a valid record, Recorded returns p
// itself.
func Recorded(p *object.Pod, a object.Attributes, by ...*Policy) (pod *object.Pod, stale int) {
	tables := make([]*mirror.Table, len(by))
	for i, q := range by {
		tables[i] = q.whole().mirrors
	}
	s := rule.NewSubject(attributesOfPods(a), &p.Meta, [2]string{}, nil)
	return mirror.Recorded(p, &s, tables)
}
