package traces

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"
)

// onlyAtTheEnd delays spans: the collector receives only spans that are flushed when the process ends.
const onlyAtTheEnd = "OTEL_BSP_SCHEDULE_DELAY=3600000" // ms

// TestTraces checks that a review is found in the trace of its client, or in a new trace, with its subject and the
// durations of its stages.
func TestTraces(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			j := startJaeger(t)
			w := serve(t, append(exported(protocol, j.endpoint(protocol)), onlyAtTheEnd))
			traceID, parent := randomHex(16), randomHex(8)

			// The client's trace is not sampled, so none of its spans may be stored.
			_, err := w.post(t.Context(), "/mutate/pods", "00-"+randomHex(16)+"-"+randomHex(8)+"-00",
				review("unsampled", "p", "nginx:1"))
			must(t, err)
			rewritten, err := w.post(t.Context(), "/mutate/pods", "00-"+traceID+"-"+parent+"-01",
				review("rewritten", "web", "nginx:1"))
			must(t, err)
			denied, err := w.post(t.Context(), "/validate/pods", "", review("denied", "bad", "nginx:latest"))
			must(t, err)
			if rewritten.Patch == nil || denied.Allowed {
				t.Fatalf("the reviews are not what they should be: %+v %+v", rewritten, denied)
			}
			w.end(t)

			t.Run("in the client's trace", func(t *testing.T) { j.checkJoined(t, traceID, parent) })
			t.Run("in a trace of its own", func(t *testing.T) { j.checkRoot(t) })
			t.Run("not where the client's is not sampled", func(t *testing.T) {
				if found, err := j.Find(t.Context(), "evergate", tagged("evergate.uid", "unsampled")); err == nil {
					t.Errorf("found in %d traces", len(found))
				}
			})
		})
	}
}

func (j *Jaeger) endpoint(protocol string) string {
	if protocol == "grpc" {
		return j.GRPC
	}
	return j.HTTP
}

func (j *Jaeger) checkJoined(t *testing.T, traceID, parent string) {
	t.Helper()
	trace, span := j.await(t, "rewritten")
	if trace.TraceID != traceID || span.Parent() != parent {
		t.Errorf("it is in trace %s beneath %q, want %s beneath %s", trace.TraceID, span.Parent(), traceID, parent)
	}
	if got := trace.Service(span); got != "evergate" {
		t.Errorf("its service is %q", got)
	}
	checkTags(t, span.Tags, map[string]string{
		"span.kind": "server", "http.request.method": "POST", "http.route": "/mutate/pods",
		"http.response.status_code": "200",
		"evergate.operation":        "CREATE", "evergate.object.resource": "v1/pods", "evergate.object.namespace": "team",
		"evergate.object.name": "web",
		"evergate.dry_run":     "false", "evergate.outcome": "rewritten", "evergate.images_rewritten": "1",
		"error": "", // and a denial is not an error
	})
	checkTags(t, trace.Processes[span.ProcessID].Tags, map[string]string{
		"k8s.namespace.name": "evergate-system", "k8s.node.name": "node-1", "k8s.pod.name": "evergate-0",
		"k8s.pod.uid": podUID, "service.instance.id": podUID,
	})
	for _, key := range []string{"evergate.policy", "evergate.time_left"} {
		if span.Tag(key) == "" {
			t.Errorf("it does not contain %s", key)
		}
	}
	checkTimes(t, trace, span, "read body", "decode", "decide", "encode")
}

func (j *Jaeger) checkRoot(t *testing.T) {
	t.Helper()
	trace, span := j.await(t, "denied")
	if span.Parent() != "" {
		t.Errorf("it is beneath %s", span.Parent())
	}
	checkTags(t, span.Tags, map[string]string{"evergate.outcome": "denied", "error": "", "http.route": "/validate/pods"})
	if rules := span.Tag("evergate.rules"); rules != `["no-latest/images.deniedTags"]` {
		t.Errorf("its rules are %s", rules)
	}
	checkTimes(t, trace, span, "read body", "decode", "decide", "encode")
}

// await waits until the review with a uid is found.
func (j *Jaeger) await(t *testing.T, uid string) (*Trace, *Span) {
	t.Helper()
	var found []Trace
	must(t, until(t.Context(), func() (err error) {
		found, err = j.Find(t.Context(), "evergate", tagged("evergate.uid", uid))
		return err
	}))
	if len(found) != 1 {
		t.Fatalf("%d traces of one review", len(found))
	}
	return &found[0], found[0].Span(func(s *Span) bool { return s.Tag("evergate.uid") == uid })
}

func tagged(key, value string) url.Values {
	return url.Values{"tags": {fmt.Sprintf("{%q: %q}", key, value)}}
}

func checkTags(t *testing.T, tags []Tag, want map[string]string) {
	t.Helper()
	for key, want := range want {
		if got := value(tags, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// checkTimes checks that the named stages exist, that stages are within the review, and that together they are not
// longer than the review.
func checkTimes(t *testing.T, trace *Trace, review *Span, stages ...string) {
	t.Helper()
	const rounding = 2 // µs: Jaeger truncates start and duration to whole microseconds separately
	var names []string
	var sum int64
	for _, stage := range trace.Children(review) {
		names = append(names, stage.OperationName)
		sum += stage.Duration
		if stage.StartTime < review.StartTime || stage.End() > review.End()+rounding {
			t.Errorf("%s (%d..%d) is not within the review (%d..%d)", stage.OperationName,
				stage.StartTime, stage.End(), review.StartTime, review.End())
		}
	}
	if sum > review.Duration+rounding {
		t.Errorf("the stages last %d µs together, the review %d", sum, review.Duration)
	}
	for _, stage := range stages {
		if !slices.Contains(names, stage) {
			t.Errorf("there is no stage %q among %q", stage, names)
		}
	}
}

// TestSlow delays a review, and finds it by its duration, together with the delayed stage.
func TestSlow(t *testing.T) {
	j := startJaeger(t)
	w := serve(t, append(exported("grpc", j.GRPC), "OTEL_BSP_SCHEDULE_DELAY=100"))
	shortest, longest := w.slowly(t, review("slow", "slow", "nginx:1"))

	search := func(atLeast time.Duration) url.Values { return url.Values{"minDuration": {atLeast.String()}} }
	slow := func(found []Trace) bool {
		return slices.ContainsFunc(found, func(trace Trace) bool {
			return trace.Span(func(s *Span) bool { return s.Tag("evergate.uid") == "slow" }) != nil
		})
	}
	must(t, until(t.Context(), func() error {
		found, err := j.Find(t.Context(), "evergate", search(shortest))
		if err == nil && !slow(found) {
			err = errors.New("the slow review is not among them")
		}
		return err
	}))
	if found, err := j.Find(t.Context(), "evergate", search(longest)); err == nil && slow(found) {
		t.Errorf("it is found among reviews of more than %s, although it took less", longest)
	}
	trace, span := j.await(t, "slow")
	for _, stage := range trace.Children(span) {
		if took := time.Duration(stage.Duration) * time.Microsecond; stage.OperationName == "read body" && took < shortest {
			t.Errorf("reading the body took %s, and not the delay of %s", took, shortest)
		}
	}
	w.end(t)
}

// slowly sends a review whose second half comes late, after many other reviews have been answered. It returns a lower
// and an upper limit for the duration of the review.
func (w *webhook) slowly(t *testing.T, body []byte) (shortest, longest time.Duration) {
	t.Helper()
	const leastDelay = 100 * time.Millisecond // a hundred times the duration of a review
	ctx, cancel := context.WithTimeout(t.Context(), traceDeadline)
	defer cancel()
	transport := w.client.Transport.(*http.Transport)
	begin := time.Now()
	conn, err := (&tls.Dialer{Config: transport.TLSClientConfig}).DialContext(ctx, "tcp", w.Addr)
	must(t, err)
	defer conn.Close()
	// The server reports that it reads the body, so the review has begun.
	fmt.Fprintf(conn, "POST /mutate/pods?timeout=10s HTTP/1.1\r\nHost: evergate\r\nContent-Type: application/json\r\n"+
		"Expect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(body))
	r := bufio.NewReader(conn)
	if line, err := r.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q %v", line, err)
	}
	_, _ = r.ReadString('\n')
	begun := time.Now()
	half := len(body) / 2
	_, err = conn.Write(body[:half])
	must(t, err)
	for i := 0; time.Since(begun) < leastDelay; i++ {
		_, err := w.post(ctx, "/mutate/pods", "", review("fast-"+strconv.Itoa(i), "fast", "nginx:1"))
		must(t, err)
	}
	shortest = time.Since(begun).Truncate(time.Millisecond) // Jaeger truncates to microseconds
	_, err = conn.Write(body[half:])
	must(t, err)
	resp, err := http.ReadResponse(r, nil)
	must(t, err)
	if a, err := answer(resp); err != nil || !bytes.Contains(a.Patch, []byte("mirror.corp.example")) {
		t.Fatalf("%+v %v", a, err)
	}
	_, err = io.Copy(io.Discard, r) // the connection is closed after the review has ended, which is after its response
	must(t, err)
	return shortest, time.Since(begin)
}
