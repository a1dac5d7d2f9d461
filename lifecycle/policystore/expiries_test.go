package policystore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/atomicdir"
	"github.com/evergate/evergate/internal/logtest"
	"github.com/evergate/evergate/policy"
)

// exceptionText returns a policy with a rule and exceptions with these names. They end at these times of the first day
// of 2000, on which the clock of a bubble starts.
func exceptionText(names, times string) string {
	var b strings.Builder
	b.WriteString(policyText("r") + "exceptions:\n")
	ends := strings.Fields(times)
	for i, name := range strings.Fields(names) {
		const entry = "- {name: %s, rules: [r], match: {namespaces: [%[1]s]}, until: 2000-01-01T%sZ, reason: TICKET-%[1]s}\n"
		fmt.Fprintf(&b, entry, name, ends[i])
	}
	return b.String()
}

// An expiry is logged once, at its time, whatever is reloaded before. If it had passed when the policy was loaded, it
// is not logged.
func TestExpiriesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		first := exceptionText("past a b c d", "00:00:00 01:00:00 01:00:00 03:00:00 05:00:00")
		volume.Write(map[string]string{"p.yaml": first})
		log, lines := logtest.New()
		s, err := Open(volume.Path(), log, nil)
		must(t, err)
		run(t, s)
		begin := time.Now() // the first second of 2000, in UTC
		_ = lines.Take()
		until := func(at time.Duration) {
			time.Sleep(time.Until(begin.Add(at)))
			synctest.Wait()
		}
		ended := func(name, hour string) string {
			return `level=WARN msg="policy: exception ended" path=PATH rule=` + name +
				` what=exception until=2000-01-01T` + hour + `:00:00Z reason=TICKET-` + name
		}
		until(time.Hour - 1)
		expectLog(t, lines, volume.Path())
		until(time.Hour)
		expectLog(t, lines, volume.Path(), ended("a", "01"), ended("b", "01"))
		until(3*time.Hour - 1)
		expectLog(t, lines, volume.Path())

		// c ends later now, d is removed, and e is new.
		volume.Write(map[string]string{"p.yaml": exceptionText("a c e", "01:00:00 09:00:00 08:00:00")})
		until(4 * time.Hour)
		if got := lines.Take(); len(got) != 2 || !strings.Contains(got[0], "policy: exception ended") ||
			!strings.Contains(got[1], "policy changed") {
			t.Errorf("%q", got) // c ended before the change was seen
		}
		until(8*time.Hour - 1)
		expectLog(t, lines, volume.Path())
		until(8 * time.Hour)
		expectLog(t, lines, volume.Path(), ended("e", "08"))
		until(9 * time.Hour)
		expectLog(t, lines, volume.Path(), ended("c", "09"))
		until(12 * time.Hour)
		expectLog(t, lines, volume.Path())
	}) // synctest fails if a goroutine is left
}

// Entries of the old policy that have ended before the next policy is loaded are logged then.
func TestExpiriesOfTheOldPolicy(t *testing.T) {
	log, lines := logtest.New()
	l := newExpiryLog(log)
	noon := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	expiries := func(names string, ends ...time.Time) (all []policy.Expiry) {
		for i, name := range strings.Fields(names) {
			all = append(all, policy.Expiry{Rule: name, What: policy.ExpiryException, Ends: ends[i]})
		}
		return all
	}
	pending := l.replace(expiries("a b", noon, noon.Add(1)), expiries("c d e", noon, noon.Add(1), noon.Add(2)), noon)
	var got []string
	for _, e := range pending {
		got = append(got, e.Rule)
	}
	if diff := cmp.Diff([]string{"d", "e"}, got); diff != "" {
		t.Error(diff)
	}
	expectLog(t, lines, "no path", `level=WARN msg="policy: exception ended" rule=a what=exception until=""`)
}

// Several policies may be loaded before Run logs their expiries. Only the last policy counts.
func TestExpiriesBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := logtest.New()
		l := newExpiryLog(log)
		for _, name := range []string{"a", "b"} {
			p, err := policy.Load(file("p.yaml", exceptionText(name, "00:30:00")))
			must(t, err)
			l.load(p)
		}
		go l.run(t.Context())
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := lines.Take(); len(got) != 1 || !strings.Contains(got[0], "rule=b ") {
			t.Errorf("%q", got)
		}
	})
}

// A thousand simultaneous expiries are a few lines, and twenty-one do not add more.
func TestManyExpiries(t *testing.T) {
	for n, more := range map[int]int{maxExpiryLines: 0, maxExpiryLines + 1: 1, 1000: 980} {
		synctest.Test(t, func(t *testing.T) {
			var names strings.Builder
			for i := range n {
				fmt.Fprintf(&names, " e%d", i)
			}
			log, lines := logtest.New()
			text := exceptionText(names.String(), strings.Repeat("00:30:00 ", n))
			s, err := FromBytes("p.yaml", []byte(text), log, nil)
			must(t, err)
			run(t, s)
			_ = lines.Take()
			time.Sleep(time.Hour)
			synctest.Wait()
			got := lines.Take()
			last := fmt.Sprint(`level=WARN msg="policy: more entries ended: evergate policy check lists them" path=p.yaml more=`,
				more)
			if shown := slices.Contains(got, last); shown != (more > 0) || len(got) != min(n, maxExpiryLines+1) {
				t.Errorf("%d that end: %d lines, the last one %s", n, len(got), got[len(got)-1])
			}
		})
	}
}
