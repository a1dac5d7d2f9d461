package handlers

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/evergate/evergate/internal/limit"
	"github.com/evergate/evergate/telemetry"
)

// capacity bounds how many reviews of some paths are in progress, and how much memory their bodies take.
type capacity struct {
	name   string // of what the slots are for, in metrics and sentences
	memory *limit.Memory
	slots  *limit.Slots
	waits  prometheus.Observer // in seconds, of each review
	most   int64               // bytes of one body
}

// The reviews of policies have a capacity of their own. To check a policy takes up to a second and 100 MiB, a thousand
// times what other reviews take, and any peer can ask for it. With their own, they take neither the slots nor the
// memory of other reviews, and they do not make the process look stuck.
const (
	// maxGuardBytes is how long a body may be. A ConfigMap has at most 1 MiB of text, which JSON often makes two to four
	// times as long, and an update carries the old one too.
	maxGuardBytes = 6 << 20
	// guardBodies is the memory of their bodies: of one that is checked, and of one that arrives.
	guardBodies = 2 * maxGuardBytes
)

func newGuardCapacity(m *telemetry.Metrics) capacity {
	// Waits for this slot are not in the histogram, where they would hide those of reviews of objects.
	unmeasured := prometheus.ObserverFunc(func(float64) {})
	return capacity{
		name:   "policy_reviews",
		memory: limit.NewMemory(guardBodies, m.BodyBytesInFlight()),
		slots:  limit.NewSlots(1),
		waits:  unmeasured,
		most:   maxGuardBytes,
	}
}
