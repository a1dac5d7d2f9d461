package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// traceIDs is an sdktrace.IDGenerator that gives a new trace the ID that its context holds, so that what was decided by
// an ID is true of the trace.
type traceIDs struct{}

type traceIDKey struct{}

func withTraceID(ctx context.Context, id trace.TraceID) context.Context {
	return context.WithValue(ctx, traceIDKey{}, id)
}

// NewIDs implements sdktrace.IDGenerator.
func (g traceIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, ok := ctx.Value(traceIDKey{}).(trace.TraceID)
	if !ok {
		id = newTraceID()
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (traceIDs) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() { // all zeros is no ID
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}
