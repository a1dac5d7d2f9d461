package incidents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/load"
)

// I14: the content of an object could make the call fail. With a webhook that fails open, a tenant could bypass the
// policy by sending something large.

func TestI14(t *testing.T) {
	t.Run("giant", func(t *testing.T) {
		try(t, incident{
			id: "I14", what: "a Pod with 1.3 MiB of <, each of which takes six characters in a review, is created and updated",
			guard:  "reviews of up to 20 MiB; larger reviews are denied and the calls do not fail",
			happen: giants, lacking: "a webhook that rejects requests larger than 3 MiB", without: instead,
		})
	})
	t.Run("costly", func(t *testing.T) {
		try(t, incident{
			id: "I14", what: "forbidden objects that are costly to evaluate are created and updated, failurePolicy Ignore",
			guard: "the cost of a review is limited", happen: costlies,
			lacking: "the revision before these limits",
			without: func(t *testing.T, l *lab) { l.Install(t, l.unbounded(t, cluster.Product{})) },
			long:    true,
		})
	})
}

// costlies repeatedly creates each costly object, and updates one of them to a forbidden one: a thousand requests in
// all. Two requests are concurrent, as many as there are cores, because this test is about the cost of a single review.
func costlies(t *testing.T, l *lab, control bool) outcome {
	l.namespace(t, noisy, "enabled")
	l.beStrict(t)
	attackers := map[string]*attacker{"an update of 260,000 commas": l.updates(t)}
	for _, object := range costlyObjects() {
		attackers[object.name] = object.creates(t, l.Config(), noisy)
	}
	all := 1000
	if control {
		all = 100
	}
	before := l.apiServer(t)
	var o outcome
	for _, name := range slices.Sorted(maps.Keys(attackers)) {
		a := attackers[name]
		calls := load.Start(t.Context(), 2, a.call)
		select {
		case <-calls.After(int64(all / len(attackers))):
		case <-t.Context().Done():
		}
		if b := calls.Stop(); b.Failures > 0 {
			o.breaks("%s: %v", name, b)
		}
		o.figure(name, "%s", &a.seen)
		a.seen.breaks(&o, name)
		if control && len(o.broken) > 0 {
			return o
		}
	}
	if failed := l.failedCalls(t, before); sum(failed) > 0 {
		o.breaks("%.0f calls failed%s", sum(failed), byName(failed))
	}
	return o
}

// updates creates a Service in advance, with empty ranges that stay in the old object, and returns an attacker that
// adds a forbidden address to it.
func (l *lab) updates(t *testing.T) *attacker {
	t.Helper()
	old := commas()
	old.Name, old.GenerateName, old.Spec.ExternalIPs = "from-before", "", nil
	l.undo(t, "-n", noisy, "delete", "service", old.Name, "--ignore-not-found")
	l.unmatched(t, noisy, func() {
		_, err := l.api.CoreV1().Services(noisy).Create(t.Context(), old, metav1.CreateOptions{})
		must(t, err)
	})
	return newAttacker(t, l.Config(), http.MethodPatch, fmt.Sprintf(servicesPath, noisy)+"/"+old.Name,
		"application/merge-patch+json", []byte(`{"spec": {"externalIPs": ["`+forbidden+`"]}}`))
}

// giants creates a giant and changes its image: one review of 7.8 MiB, and one of twice that size. Each must be
// rewritten or denied.
func giants(t *testing.T, l *lab, control bool) outcome {
	ns := asked(control)
	l.undo(t, "-n", ns, "delete", "pod", "giant", "--force", "--grace-period=0", "--ignore-not-found")
	before := l.apiServer(t)
	var o outcome
	send := func(what, method, path, kind string, body []byte) {
		code, text := l.send(t, method, path, kind, body)
		switch {
		case bytes.Contains(text, []byte("denied the request")):
			o.figure(what, "%s", message(text))
		case code/100 != 2:
			o.breaks("%s: %d: %.300s", what, code, text)
		case !bytes.Contains(text, []byte(`"image":"`+"mirror.corp.example/")):
			o.breaks("%s: admitted and not rewritten", what)
		default:
			o.figure(what, "rewritten")
		}
	}
	pods := "/api/v1/namespaces/" + ns + "/pods"
	send("created", http.MethodPost, pods, "application/json", giant(written))
	send("updated", http.MethodPatch, pods+"/giant", "application/json-patch+json",
		[]byte(`[{"op": "replace", "path": "/spec/containers/0/image", "value": "docker.io/library/nginx:2"}]`))
	if failed := l.failedCalls(t, before); sum(failed) > 0 {
		o.breaks("%.0f calls failed%s", sum(failed), byName(failed))
	}
	return o
}

// giant returns a Pod in the encoding of a client that does not escape.
func giant(image string) []byte {
	p := nowhere(pod("giant", image))
	const size = 13 << 20 / 10
	text := typed("v1", "Pod", p)
	env := fmt.Sprintf(`"image":%q,"env":[{"name":"X","value":%q}]`, image, strings.Repeat("<", size))
	return bytes.Replace(text, []byte(fmt.Sprintf(`"image":%q`, image)), []byte(env), 1)
}

// send makes one request as the admin and returns the response unchanged.
func (l *lab) send(t *testing.T, method, path, kind string, body []byte) (int, []byte) {
	t.Helper()
	config := l.Config()
	client, err := rest.HTTPClientFor(config)
	must(t, err)
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, config.Host+path,
		bytes.NewReader(body))
	must(t, err)
	req.Header.Set("Content-Type", kind)
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, text
}

// message returns the message in a status.
func message(text []byte) string {
	var status metav1.Status
	if err := json.Unmarshal(text, &status); err != nil {
		return fmt.Sprintf("%.300s", text)
	}
	return status.Message
}
