package calls

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/hostile"
	"github.com/evergate/evergate/e2e/internal/process"
)

// containerLimit is limits.memory in the manifests.
const containerLimit = 512 << 20

// TestHostilePeersTogether runs all attacks together, repeatedly, for EVERGATE_HOSTILE_PERIOD=10m, or otherwise for
// about a hundred legitimate calls. As root, it limits the process to the memory of the container in the manifests,
// including the kernel's memory for its sockets.
func TestHostilePeersTogether(t *testing.T) {
	notShort(t)
	var period time.Duration
	if s := os.Getenv("EVERGATE_HOSTILE_PERIOD"); s != "" {
		var err error
		period, err = time.ParseDuration(s)
		must(t, err)
	}
	for name, besiege := range map[string]func(*testing.T, func(context.Context, *siege)) int64{
		"without client certificates": func(t *testing.T, attack func(context.Context, *siege)) int64 {
			return besiege(t, attack, "--max-connection-age=1ms")
		},
		"with client certificates": besiegeAuthenticated,
	} {
		t.Run(name, func(t *testing.T) {
			var group *process.Cgroup
			peak := besiege(t, func(ctx context.Context, s *siege) {
				group = s.confine()
				together(ctx, s, period)
			})
			if group != nil {
				checkGroup(t, group)
			}
			if peak > memoryBound {
				t.Errorf("the process used %d MiB, its limit is %d MiB", peak>>20, memoryBound>>20)
			}
		})
	}
}

// confine limits the process to the memory of the container in the manifests. It returns nil if that is not possible.
func (s *siege) confine() *process.Cgroup {
	s.Helper()
	group, err := s.server.Confine(containerLimit)
	if errors.Is(err, process.ErrNoCgroup) {
		s.Log(err)
		return nil
	}
	must(s.T, err)
	s.Cleanup(func() {
		<-s.server.Done()
		must(s.T, group.Remove())
	})
	return group
}

func checkGroup(t *testing.T, group *process.Cgroup) {
	t.Helper()
	all, err := group.Peak()
	must(t, err)
	sockets, err := group.Sockets()
	must(t, err)
	t.Logf("peak including the kernel %d MiB, only sockets %d MiB", all>>20, sockets>>20)
	if all > containerLimit {
		t.Errorf("the process and its sockets used %d MiB, its limit is %d", all>>20, containerLimit>>20)
	}
}

// together repeats the attacks that cost most memory, each many times, until the period is over or, without a period,
// until some legitimate calls have been made.
func together(ctx context.Context, s *siege, period time.Duration) {
	ctx, end := context.WithCancel(ctx)
	var attacks sync.WaitGroup
	for _, attack := range []func(context.Context, *siege){
		headers, costlyChains, unfinished, largeAny, stoppedBodies, waitingBodies, unread, opsHeaders, unreadPages, nasty,
	} {
		attacks.Go(func() {
			for ctx.Err() == nil {
				wave, over := context.WithCancel(ctx)
				attack(wave, s)
				select {
				case <-s.load.After(50):
				case <-ctx.Done():
				}
				over()
			}
		})
	}
	if period > 0 {
		select {
		case <-time.After(period):
		case <-s.server.Done():
			s.Error("the process has ended")
		case <-ctx.Done():
		}
	} else {
		s.honest(300)
	}
	end()
	attacks.Wait()
}

func unfinished(ctx context.Context, s *siege) {
	if _, err := hostile.OpenUnfinished(ctx, s.server.Addr, crowd/4, 256<<10, 32<<10); err != nil && ctx.Err() == nil {
		s.Error(err)
	}
}

// waitingBodies send as much of their bodies as is read before there must be room for all, and as much again for the
// kernel to buffer.
func waitingBodies(ctx context.Context, s *siege) {
	s.peersThatWait(ctx, crowd/2, hostile.Post("/validate/pods", 1<<20)+strings.Repeat(" ", 900<<10))
	s.honest(100)
}

func opsHeaders(ctx context.Context, s *siege) {
	if _, err := hostile.Open(ctx, s.server.Ops, crowd, say(openHeader+strings.Repeat("x", 4<<10))); err != nil &&
		ctx.Err() == nil {
		s.Error(err)
	}
}

// unreadPages request pages and do not read them.
func unreadPages(ctx context.Context, s *siege) {
	text := strings.Repeat(askMetrics+askPolicy, 100)
	if _, err := hostile.Open(ctx, s.server.Ops, crowd, say(text)); err != nil && ctx.Err() == nil {
		s.Error(err)
	}
}

// Any result is accepted. With client certificates it is a rejection, and at the end the peer disconnects.
func largeAny(ctx context.Context, s *siege) {
	body := podOf(19 << 20)
	hostile.Each(48, 16, func() string { return s.ask(ctx, hostile.Post("/mutate/pods", len(body)), body) })
}

func headers(ctx context.Context, s *siege) {
	crowdOf(ctx, s, nil, openHeader+strings.Repeat("x", 19<<10))
}

func costlyChains(ctx context.Context, s *siege) {
	chain, err := hostile.CostlyCertificate(300)
	must(s.T, err)
	crowdOf(ctx, s, hostile.WithCertificate(chain), "")
}

func crowdOf(ctx context.Context, s *siege, config *tls.Config, text string) {
	if _, err := hostile.OpenTLSWith(ctx, s.server.Addr, crowd, cmp.Or(config, hostile.Unverified()),
		say(text)); err != nil && ctx.Err() == nil {
		s.Error(err)
	}
}
