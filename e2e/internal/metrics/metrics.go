// Package metrics reads the metrics of kube-apiserver and of the replicas. With them, a test can check the results of
// calls independently of its clients.
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

// Set contains all metrics of one process at one moment.
type Set map[string]*dto.MetricFamily

// Read reads a set from a path of the API server: /metrics for its own metrics, or the proxy path of a Pod.
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

// Add adds the metrics of another process. The sums are then for both processes.
func (s Set) Add(other Set) {
	for name, family := range other {
		if mine, ok := s[name]; ok {
			mine.Metric = append(mine.Metric, family.Metric...)
		} else {
			s[name] = family
		}
	}
}

// By sums the series of a counter or gauge that have all labels in want, grouped by the value of one label. If the
// metric is absent, the result is empty.
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

// Sum sums all series that have all labels in want.
func (s Set) Sum(metric string, want map[string]string) float64 {
	var sum float64
	for _, value := range s.By("", metric, want) {
		sum += value
	}
	return sum
}

// Buckets returns the cumulative counts of a histogram by bound, summed over its series.
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
