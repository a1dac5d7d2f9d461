// Package decoders compares ways to decode a review: the server's decoder, and JSON decoders that it could use instead.
// It is a separate module, so these decoders are not in the server's go.mod.
//
// All of them read the same fields and, if they can, check that the rest is valid JSON. The decoder "check" only does
// the latter.
package decoders

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	goexperiment "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	goccy "github.com/goccy/go-json"
	jsoniter "github.com/json-iterator/go"
	segmentio "github.com/segmentio/encoding/json"
	"github.com/valyala/fastjson"
	corev1 "k8s.io/api/core/v1"
	kubernetes "sigs.k8s.io/json"

	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest"
)

// admission has the fields of a review that affect decisions, as a server without generated types would declare them.
type admission[T any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    struct {
		UID      string `json:"uid"`
		Resource struct {
			Group    string `json:"group"`
			Version  string `json:"version"`
			Resource string `json:"resource"`
		} `json:"resource"`
		SubResource string `json:"subResource"`
		Name        string `json:"name"`
		Namespace   string `json:"namespace"`
		Operation   string `json:"operation"`
		UserInfo    struct {
			Username string   `json:"username"`
			Groups   []string `json:"groups"`
		} `json:"userInfo"`
		Object    *T   `json:"object"`
		OldObject *T   `json:"oldObject"`
		DryRun    bool `json:"dryRun"`
	} `json:"request"`
}

type container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// pod has the fields of a Pod that affect decisions.
type pod struct {
	Metadata struct {
		Name            string            `json:"name"`
		GenerateName    string            `json:"generateName"`
		Namespace       string            `json:"namespace"`
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []struct {
			Kind       string `json:"kind"`
			Name       string `json:"name"`
			Controller bool   `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Containers          []container `json:"containers"`
		InitContainers      []container `json:"initContainers"`
		EphemeralContainers []container `json:"ephemeralContainers"`
		Volumes             []struct {
			Name  string `json:"name"`
			Image *struct {
				Reference string `json:"reference"`
			} `json:"image"`
		} `json:"volumes"`
	} `json:"spec"`
}

// way is a decoder.
type way struct {
	name   string
	decode func([]byte) error
}

func ways() []way {
	iter := jsoniter.ConfigCompatibleWithStandardLibrary
	var parser fastjson.Parser
	return []way{
		{"evergate", func(body []byte) error { _, err := review.Pods().Decode(body); return err }},
		{"jsontext-check", func(body []byte) error { return jsontext.NewDecoder(bytes.NewBuffer(body)).SkipValue() }},
		{"encoding-json", minimal(stdjson.Unmarshal)},
		{"encoding-json-full-types", full(stdjson.Unmarshal)},
		{"sigs.k8s.io-json", minimal(func(data []byte, v any) error {
			return kubernetes.UnmarshalCaseSensitivePreserveInts(data, v)
		})},
		{"go-json-experiment", minimal(func(data []byte, v any) error { return goexperiment.Unmarshal(data, v) })},
		{"goccy", minimal(goccy.Unmarshal)},
		{"segmentio", minimal(segmentio.Unmarshal)},
		{"json-iterator", minimal(iter.Unmarshal)},
		{"fastjson-tree", func(body []byte) error { _, err := parser.ParseBytes(body); return err }},
	}
}

func BenchmarkPod(b *testing.B) {
	for _, body := range reviewtest.Bodies() {
		if body.Resource != "pods" {
			continue
		}
		for _, way := range ways() {
			b.Run(body.Name+"/"+way.name, func(b *testing.B) {
				b.SetBytes(int64(len(body.Data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := way.decode(body.Data); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func minimal(unmarshal func([]byte, any) error) func([]byte) error {
	return func(body []byte) error { return unmarshal(body, new(admission[pod])) }
}

func full(unmarshal func([]byte, any) error) func([]byte) error {
	return func(body []byte) error { return unmarshal(body, new(admission[corev1.Pod])) }
}

// TestSkipped logs which decoders check skipped values. A decoder that does not check them would accept input that
// another decoder rejects or reads differently.
func TestSkipped(t *testing.T) {
	const frame = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` +
		`"operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},` +
		`"object":{"skipped":%s,"spec":{"containers":[]}}}}`
	for _, way := range ways() {
		var taken []string
		for _, value := range []string{`01`, `tru`, `[1,]`, `{"a":1,}`, `{"a" 1}`, `"\x"`, "\"\t\"", `1.`, `--1`, `[}`} {
			if way.decode(fmt.Appendf(nil, frame, value)) == nil {
				taken = append(taken, value)
			}
		}
		t.Logf("%-26s takes for JSON: %s", way.name, strings.Join(taken, "  "))
		if way.name == "evergate" && taken != nil {
			t.Error("skipped values are not checked")
		}
	}
}
