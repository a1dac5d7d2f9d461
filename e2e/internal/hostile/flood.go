package hostile

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Flood is a number of workers that repeat the same action.
type Flood struct {
	end  context.CancelFunc
	done sync.WaitGroup
	n    atomic.Int64
}

// StartFlood starts workers that call f, with a different number for each call, until ctx ends or the flood is stopped.
func StartFlood(ctx context.Context, workers int, f func(ctx context.Context, i int)) *Flood {
	ctx, end := context.WithCancel(ctx)
	flood := &Flood{end: end}
	for range workers {
		flood.done.Go(func() {
			for ctx.Err() == nil {
				f(ctx, int(flood.n.Add(1)))
			}
		})
	}
	return flood
}

// Stop ends the flood and returns how many times f was called.
func (f *Flood) Stop() int64 {
	f.end()
	f.done.Wait()
	return f.n.Load()
}

// Once opens a connection, with TLS if config is not nil, writes text and reads up to answer bytes of the response. It
// then resets the connection, which frees the port. It ignores errors.
func Once(ctx context.Context, addr string, i int, config *tls.Config, text string, answer int64) {
	raw, err := dial(ctx, addr, i)
	if err != nil {
		return
	}
	defer raw.Close()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	_ = raw.(*net.TCPConn).SetLinger(0)
	conn := raw
	if config != nil {
		conn = tls.Client(raw, config)
	}
	if _, err := io.WriteString(conn, text); err == nil {
		_, _ = io.CopyN(io.Discard, conn, answer)
	}
}
