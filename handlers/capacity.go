package handlers

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/telemetry"
)

// capacity limits how many reviews of some paths are in progress, and how much memory their bodies take.
type capacity struct {
	name   string // the purpose of the slots, in metrics and messages
	memory *limit.Memory
	slots  *limit.Slots
	waits  prometheus.Observer // receives the wait of each review, in seconds
	most   int64               // largest body, in bytes
}

// Policy reviews have a separate capacity. The check of a policy takes up to a second and 100 MiB, a thousand
// times as much as other reviews, and any peer can request one. With a separate capacity, they do not take slots or
// memory from other reviews, and they do not make the process look stuck.
const (
	// maxGuardBytes is the largest body. A ConfigMap contains at most 1 MiB of text, which JSON escaping often makes
	// two to four times as long, and an update also contains the old object.
	maxGuardBytes = 6 << 20
	// guardBodies is the memory for their bodies: a body that is checked, and a body that arrives.
	guardBodies = 2 * maxGuardBytes
)

func newGuardCapacity(m *telemetry.Metrics) capacity {
	// Waits for this slot are not in the histogram, because they would hide the waits of object reviews.
	unmeasured := prometheus.ObserverFunc(func(float64) {})
	return capacity{
		name:   "policy_reviews",
		memory: limit.NewMemory(guardBodies, m.BodyBytesInFlight()),
		slots:  limit.NewSlots(1),
		waits:  unmeasured,
		most:   maxGuardBytes,
	}
}
