// Package metrics reads what kube-apiserver and the replicas count of themselves, so that a test learns
// what has become of calls from others than its clients.
package metrics

import (
	"context"
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// Set is everything that one process counts, at one moment.
type Set map[string]*dto.MetricFamily

// Read gets a set from a path of the API server: /metrics for its own, or that of a Pod's proxy.
func Read(ctx context.Context, api rest.Interface, path string) (Set, error) {
	text, err := api.Get().AbsPath(path).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read metrics at %s: %w", path, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	set, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		return nil, fmt.Errorf("read metrics at %s: %w", path, err)
	}
	return set, nil
}

// By sums the series of a counter or gauge that have all the labels of want, by the value of one label. A metric that
// is not there has no values.
func (s Set) By(label, metric string, want map[string]string) map[string]float64 {
	sums := map[string]float64{}
	family, ok := s[metric]
	if !ok {
		return sums
	}
	for _, m := range family.Metric {
		labels := map[string]string{}
		for _, pair := range m.Label {
			labels[pair.GetName()] = pair.GetValue()
		}
		if matches(labels, want) {
			sums[labels[label]] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return sums
}

// Sum sums all series that have all the labels of want.
func (s Set) Sum(metric string, want map[string]string) float64 {
	var sum float64
	for _, value := range s.By("", metric, want) {
		sum += value
	}
	return sum
}

// Buckets returns of a histogram how many observations were at most each bound, its series summed.
func (s Set) Buckets(metric string) map[float64]uint64 {
	counts := map[float64]uint64{}
	family, ok := s[metric]
	if !ok {
		return counts
	}
	for _, m := range family.Metric {
		for _, b := range m.GetHistogram().GetBucket() {
			counts[b.GetUpperBound()] += b.GetCumulativeCount()
		}
	}
	return counts
}

func matches(labels, want map[string]string) bool {
	for name, value := range want {
		if labels[name] != value {
			return false
		}
	}
	return true
}
