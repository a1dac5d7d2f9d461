package policystore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/atomicdir"
	"github.com/evergate/evergate/internal/logtest"
	"github.com/evergate/evergate/policy"
)

// policyText returns a policy file with one rule for Services.
func policyText(name string) string {
	return "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nservices:\n" +
		"- {name: " + name + ", mode: enforce, types: {denied: [NodePort]}}\n"
}

const (
	bad    = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nmirors: []\n"
	behind = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" +
		"mirrors:\n- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}\n" +
		"pods:\n- {name: r, mode: enforce, images: {denied: [docker.io/evil/x]}}\n"
	badLine1 = `keys.yaml:3:1: mirors: unknown field; did you mean mirrors?`
)

// hash returns the hash of the policy in these files.
func hash(t *testing.T, files ...policy.File) string {
	t.Helper()
	p, err := policy.Load(files...)
	must(t, err)
	return p.Hash()
}

func file(name, data string) policy.File { return policy.File{Name: name, Data: []byte(data)} }

// metrics counts the calls of an Observer.
type metrics struct {
	mu     sync.Mutex
	loaded []string
	failed int
}

func (m *metrics) PolicyLoaded(hash string, counts policy.Counts, _ []policy.Expiry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loaded = append(m.loaded, fmt.Sprintf("%s %v", hash, counts))
}

func (m *metrics) PolicyLoadFailed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed++
}

// expectLog compares the log with the expected lines, with the path replaced by PATH.
func expectLog(t *testing.T, log *logtest.Recorder, path string, want ...string) {
	t.Helper()
	var got []string
	for _, line := range log.Take() {
		got = append(got, strings.ReplaceAll(line, path, "PATH"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log: %s", diff)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"both/b.yaml": policyText("b"), "both/a.yml": policyText("a"), "both/README": "-", "both/.swp.yaml": "-",
		"none/README":     "-",
		"off/policy.yaml": "# nothing yet\n",
		"bad/keys.yaml":   bad, "behind/policy.yaml": behind,
		"twice/a.yaml": policyText("a"), "twice/b.yaml": policyText("a"),
		"alone": policyText("a"),
	} {
		path := filepath.Join(dir, name)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644)))
	}
	must(t, os.Symlink("alone", filepath.Join(dir, "link")))

	const empty = `level=WARN msg="policy loaded: it is empty, every object is allowed and no image is rewritten" ` +
		`path=PATH `
	const none = ` mirrors=0 pods=0 ingresses=0 services=0 routes=0 gateways=0 grants=0` +
		` certificates=0 dnsEndpoints=0 owners=0 unique=0`
	for name, test := range map[string]struct{ path, hash, log, err string }{
		"directory": {
			path: "both", hash: hash(t, file("a.yml", policyText("a")), file("b.yaml", policyText("b"))),
			log: `level=INFO msg="policy loaded" path=PATH hash=HASH files="[a.yml b.yaml]" mirrors=0 pods=0 ingresses=0 ` +
				`services=2 routes=0 gateways=0 grants=0 certificates=0 dnsEndpoints=0 owners=0 unique=0`,
		},
		"file": {
			path: "alone", hash: hash(t, file("alone", policyText("a"))),
			log: `level=INFO msg="policy loaded" path=PATH hash=HASH files=[alone] ` +
				`mirrors=0 pods=0 ingresses=0 services=1 routes=0 gateways=0 grants=0 certificates=0 dnsEndpoints=0 owners=0 ` +
				`unique=0`,
		},
		"link": {
			path: "link", hash: hash(t, file("link", policyText("a"))),
			log: `level=INFO msg="policy loaded" path=PATH hash=HASH files=[link] ` +
				`mirrors=0 pods=0 ingresses=0 services=1 routes=0 gateways=0 grants=0 certificates=0 dnsEndpoints=0 owners=0 ` +
				`unique=0`,
		},
		"no policy file": {
			path: "none", hash: hash(t), log: empty + `hash=HASH reason="there is no policy file at PATH" files=[]` + none,
		},
		"absent": {
			path: "absent", hash: hash(t), log: empty + `hash=HASH reason="there is no policy file at PATH" files=[]` + none,
		},
		"no entry": {
			path: "off", hash: hash(t, file("policy.yaml", "# nothing yet\n")),
			log: empty + `hash=HASH reason="there is no entry in policy.yaml" files=[policy.yaml]` + none,
		},
		"what does less than it looks like": {
			path: "behind", hash: hash(t, file("policy.yaml", behind)),
			log: `level=INFO msg="policy loaded" path=PATH hash=HASH files=[policy.yaml] mirrors=1 pods=1 ingresses=0 ` +
				`services=0 routes=0 gateways=0 grants=0 certificates=0 dnsEndpoints=0 owners=0 unique=0` + "\n" +
				`level=WARN msg="policy warning" path=PATH warning="policy.yaml:6:3: pods[0]: images.denied has ` +
				`docker.io/evil/x, and mirrors entry hub has it at m.example/hub/evil/x: an image written like ` +
				`that is not denied; ` +
				`deny m.example/hub/evil/x too"`,
		},
		"bad": {
			path: "bad", err: "the policy at PATH is not valid:\n" + badLine1,
		},
		"name taken twice": {
			path: "twice",
			err: "the policy at PATH is not valid:\n" +
				`b.yaml:4:3: services[0]: the name "a" is taken by a.yaml:4:3: names must be unique in the whole policy`,
		},
		"below a file": {path: "alone/policy.yaml", err: "cannot read the policy: PATH: not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, test.path)
			log, lines := logtest.New()
			s, err := Open(path, log, nil)
			if err != nil {
				if diff := cmp.Diff(test.err, strings.ReplaceAll(err.Error(), path, "PATH")); diff != "" {
					t.Error(diff)
				}
				if _, ok := errors.AsType[*InvalidError](err); ok != strings.Contains(test.err, "not valid") {
					t.Errorf("is an InvalidError: %v", ok)
				}
				expectLog(t, lines, path)
				return
			}
			if got := s.Current().Hash(); got != test.hash {
				t.Errorf("hash %s, want %s", got, test.hash)
			}
			expectLog(t, lines, path, strings.Split(strings.ReplaceAll(test.log, "HASH", test.hash), "\n")...)
		})
	}
}

func TestOpenNothing(t *testing.T) {
	log, lines := logtest.New()
	s, err := Open("", log, nil)
	must(t, err)
	expectLog(t, lines, "PATH", `level=WARN msg="policy loaded: it is empty, every object is allowed and no image is `+
		`rewritten" `+
		`path="" hash=`+hash(t)+` reason="no policy is configured" files=[]`+
		` mirrors=0 pods=0 ingresses=0 services=0 routes=0 gateways=0 grants=0`+
		` certificates=0 dnsEndpoints=0 owners=0 unique=0`)
	if got := s.Status().Files; got == nil {
		t.Error("files must be a list in JSON too")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); err == nil || err.Error() !=
		fmt.Sprintf("there is no policy at %q: pass a file, or a directory with *.yaml or *.yml files", dir) {
		t.Errorf("an empty directory: %v", err)
	}
	path := filepath.Join(dir, "policy.yaml")
	must(t, os.WriteFile(path, []byte("x"), 0o644))
	for _, p := range []string{dir, path} {
		files, err := Read(p)
		must(t, err)
		if diff := cmp.Diff([]policy.File{file("policy.yaml", "x")}, files); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFromBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := logtest.New()
		s, err := FromBytes("dev.yaml", []byte(policyText("a")), log, nil)
		must(t, err)
		run(t, s)
		time.Sleep(time.Hour)
		if got := s.Status(); got.Reloads != 0 || got.Path != "dev.yaml" || len(lines.Take()) != 1 {
			t.Errorf("%+v", got)
		}
		if _, err := FromBytes("keys.yaml", []byte(bad), log, nil); err == nil ||
			err.Error() != "the policy at keys.yaml is not valid:\n"+badLine1 {
			t.Errorf("got %v", err)
		}
	})
}

// run starts Run in the bubble of the test. It polls less often than by default, because polling is real work in fake
// time, and some tests cover hours.
func run(t *testing.T, s *Store) {
	go s.Run(t.Context(), 10*time.Second)
	synctest.Wait()
}

// seen waits until a change that was just made is active.
func seen() {
	time.Sleep(time.Minute) // fake time
	synctest.Wait()
}

// head is the start of every policy file.
const head = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"

// This is the life of one ConfigMap, as the kubelet shows it.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		path := volume.Path()
		one, two := policyText("one"), policyText("two")
		hash1, hash2 := hash(t, file("keys.yaml", one)), hash(t, file("keys.yaml", two))
		meant := head + "allowEmpty: true\n"
		hash0 := hash(t, file("keys.yaml", meant))

		volume.Write(map[string]string{"keys.yaml": one})
		log, lines := logtest.New()
		var m metrics
		s, err := Open(path, log, &m)
		must(t, err)
		start := time.Now()
		want := Status{
			Path: path, Files: []string{"keys.yaml"}, Hash: hash1, Since: start, Counts: policy.Counts{Services: 1},
		}
		// Any time up to a poll and a second after the files changed is accepted.
		soon := func(changed, got time.Time) time.Time {
			t.Helper()
			if late := got.Sub(changed); late <= 0 || late > 11*time.Second {
				t.Errorf("reported %v after the change", late)
			}
			return got
		}
		expect := func(log ...string) {
			t.Helper()
			expectLog(t, lines, path, log...)
			if diff := cmp.Diff(want, s.Status()); diff != "" {
				t.Errorf("status: %s", diff)
			}
			if got := s.Current().Hash(); got != want.Hash {
				t.Errorf("current: %s, want %s", got, want.Hash)
			}
		}
		const one0 = ` files=[keys.yaml] mirrors=0 pods=0 ingresses=0 services=1 routes=0 gateways=0 grants=0` +
			` certificates=0 dnsEndpoints=0 owners=0 unique=0`
		expect(`level=INFO msg="policy loaded" path=PATH hash=` + hash1 + one0)
		run(t, s)
		seen()
		expect()

		// The policy fails to load, which is reported once although it stays for a long time.
		changed := time.Now()
		volume.Write(map[string]string{"keys.yaml": bad})
		seen()
		seen()
		want.Failures, want.Stale = 1, true
		want.LastFailure = &LoadFailure{
			At:    soon(changed, s.Status().LastFailure.At),
			Error: "the policy at " + path + " is not valid:\n" + badLine1,
		}
		expect(`level=ERROR msg="policy failed to load: the last good one stays active" path=PATH hash=`+hash1+` errors=1`,
			`level=ERROR msg="policy error" path=PATH error="`+badLine1+`"`)

		// The change is reverted, so nothing has changed.
		volume.Write(map[string]string{"keys.yaml": one})
		seen()
		want.Stale = false
		expect(`level=INFO msg="the files contain the active policy again" path=PATH hash=` + hash1 + one0)

		changed = time.Now()
		volume.Write(map[string]string{"keys.yaml": two})
		seen()
		want.Hash, want.Reloads = hash2, 1
		want.Since = soon(changed, s.Status().Since)
		expect(`level=INFO msg="policy changed" path=PATH hash=` + hash2 + ` was=` + hash1 + one0)

		// The ConfigMap is emptied, or it is deleted, and then an optional ConfigMap appears as an empty volume.
		for reason, files := range map[string]map[string]string{
			"there is no policy file at " + path: nil,
			"there is no entry in keys.yaml":     {"keys.yaml": head},
		} {
			changed = time.Now()
			volume.Write(files)
			seen()
			sentence := reason + ", and the active policy has entries: " +
				"write allowEmpty: true in a document to switch everything off"
			want.Stale = true
			want.Failures++
			want.LastFailure = &LoadFailure{
				At:    soon(changed, s.Status().LastFailure.At),
				Error: "the policy at " + path + " is not valid:\n" + sentence,
			}
			expect(`level=ERROR msg="policy failed to load: the last good one stays active" path=PATH hash=`+hash2+` errors=1`,
				`level=ERROR msg="policy error" path=PATH error="`+strings.ReplaceAll(sentence, path, "PATH")+`"`)
		}

		// The empty policy is intended.
		changed = time.Now()
		volume.Write(map[string]string{"keys.yaml": meant})
		seen()
		want.Hash, want.Counts, want.Reloads, want.Stale = hash0, policy.Counts{}, 2, false
		want.Since = soon(changed, s.Status().Since)
		expect(`level=WARN msg="policy changed: it is empty, every object is allowed and no image is rewritten" path=PATH ` +
			`hash=` + hash0 + ` was=` + hash2 + ` reason="there is no entry in keys.yaml" files=[keys.yaml] mirrors=0 ` +
			`pods=0 ingresses=0 services=0 routes=0 gateways=0 grants=0 certificates=0 dnsEndpoints=0 owners=0 unique=0`)

		services := "{0 0 0 1 0 0 0 0 0 0 0}"
		if diff := cmp.Diff([]string{
			hash1 + " " + services, hash1 + " " + services, hash2 + " " + services, hash0 + " {0 0 0 0 0 0 0 0 0 0 0}",
		}, m.loaded); diff != "" {
			t.Errorf("observer: %s", diff)
		}
		if m.failed != 3 {
			t.Errorf("observer: %d failures to load", m.failed)
		}
	})
}

// A policy that never had entries may stay empty.
func TestEmptyStaysEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	s, err := Open(path, slog.New(slog.DiscardHandler), nil)
	must(t, err)
	must(t, os.WriteFile(path, []byte(head), 0o644))
	if err := s.value.Load(); err != nil || s.Status().Reloads != 1 {
		t.Errorf("%v, %+v", err, s.Status())
	}
}

// A path that cannot be read is not an empty policy.
func TestUnreadableKeepsTheLastGoodPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		must(t, os.WriteFile(path, []byte(policyText("a")), 0o644))
		log, lines := logtest.New()
		s, err := Open(path, log, nil)
		must(t, err)
		want := s.Current().Hash()
		lines.Take()
		run(t, s)
		// A link to itself also fails for root, unlike a missing permission.
		must(t, errors.Join(os.Remove(path), os.Symlink("policy.yaml", path)))
		seen()
		expectLog(t, lines, path, `level=ERROR msg="policy cannot be read: the last good one stays active" path=PATH `+
			`hash=`+want+
			` error="PATH: EvalSymlinks: too many links"`)
		if got := s.Current().Hash(); got != want || !s.Status().Stale {
			t.Errorf("hash %s, want %s; status %+v", got, want, s.Status())
		}
	})
}

// The log of one invalid policy is limited, and so is its Status.
func TestManyErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume := atomicdir.New(t)
		volume.Write(map[string]string{"a.yaml": policyText("a")})
		log, lines := logtest.New()
		s, err := Open(volume.Path(), log, nil)
		must(t, err)
		lines.Take()
		run(t, s)
		many := "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
		for i := range 150 {
			many += fmt.Sprintf("zebra%d: []\n", i)
		}
		volume.Write(map[string]string{"a.yaml": many})
		seen()
		got := lines.Take()
		if len(got) != 1+100+1 {
			t.Fatalf("%d lines", len(got))
		}
		if want := `errors=150`; !strings.HasSuffix(got[0], want) {
			t.Errorf("the first line is %s", got[0])
		}
		if want := `error="and 50 more: fix these 100 first"`; !strings.HasSuffix(got[len(got)-1], want) {
			t.Errorf("the last line is %s", got[len(got)-1])
		}
		if errs := s.Status().LastFailure.Error; strings.Count(errs, "\n") != 101 {
			t.Errorf("status holds %d lines", strings.Count(errs, "\n"))
		}
	})
}

// A policy that exceeds a limit fails to load like any other invalid policy: the last good policy stays active.
func TestBeyondTheLimitsKeepsTheLastGoodPolicy(t *testing.T) {
	comment := func(n int) string { return strings.Repeat("#", n) }
	for name, test := range map[string]struct {
		files map[string]string
		logs  []string
	}{
		"steps of regular expressions": {
			map[string]string{"a.yaml": head + "ingresses:\n- {name: a, mode: enforce, paths: {deniedPatterns: [" +
				strings.Repeat("'/.{1000}', ", 12_000) + "'/a']}}\n"},
			[]string{
				`level=ERROR msg="policy failed to load: the last good one stays active" path=PATH hash=HASH errors=1`,
				`level=ERROR msg="policy error" path=PATH error="a.yaml:4:2441: ingresses[0].paths.deniedPatterns[199]: the ` +
					`regular expressions of the policy have more than 200,000 steps together, which is the limit"`,
			},
		},
		"values": {
			map[string]string{"a.yaml": head + "mirrors: [" + strings.Repeat("a,", 1<<20) + "a]\n"},
			[]string{
				`level=ERROR msg="policy failed to load: the last good one stays active" path=PATH hash=HASH errors=1`,
				`level=ERROR msg="policy error" path=PATH error="a.yaml:3:1: the policy has more than 800,000 values, which is ` +
					`the limit"`,
			},
		},
		"bytes of all files": {
			map[string]string{"a.yaml": comment(4 << 20), "b.yaml": comment(4 << 20), "c.yaml": comment(1)},
			[]string{`level=ERROR msg="policy cannot be read: the last good one stays active" path=PATH hash=HASH ` +
				`error="PATH/c.yaml and the files before it have more than 8 MiB, which is the limit for all of them together"`},
		},
		"at the limit": {
			map[string]string{"a.yaml": comment(4 << 20), "b.yaml": policyText("b") + comment(4<<20-len(policyText("b")))},
			[]string{`level=INFO msg="policy changed" path=PATH hash=HASH was=HASH files="[a.yaml b.yaml]" mirrors=0 pods=0 ` +
				`ingresses=0 services=1 routes=0 gateways=0 grants=0 certificates=0 dnsEndpoints=0 owners=0 unique=0`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				volume := atomicdir.New(t)
				volume.Write(map[string]string{"a.yaml": policyText("a")})
				log, lines := logtest.New()
				s, err := Open(volume.Path(), log, nil)
				must(t, err)
				lines.Take()
				run(t, s)
				before := s.Current().Hash()
				volume.Write(test.files)
				seen()
				var got []string
				for _, line := range lines.Take() {
					line = strings.ReplaceAll(line, volume.Path(), "PATH")
					got = append(got, strings.ReplaceAll(strings.ReplaceAll(line, before, "HASH"), s.Current().Hash(), "HASH"))
				}
				if diff := cmp.Diff(test.logs, got); diff != "" {
					t.Error(diff)
				}
				if stays := name != "at the limit"; (s.Current().Hash() == before) != stays || s.Status().Stale != stays {
					t.Errorf("the policy is %s, was %s; status %+v", s.Current().Hash(), before, s.Status())
				}
			})
		})
	}
}

// must fails the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
