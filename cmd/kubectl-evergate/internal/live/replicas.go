package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/offline/apiserver"
)

// webhookPods selects the serving Pods, like the Service in the base manifests.
const webhookPods = "app.kubernetes.io/name=evergate,app.kubernetes.io/component=webhook"

// opsPortName is the name of the ops port in the base manifests. opsPort is its default.
const (
	opsPortName = "ops"
	opsPort     = 8080
)

// Replica is a serving Pod.
type Replica struct {
	Pod corev1.Pod
}

// Name returns the name of the Pod.
func (r *Replica) Name() string { return r.Pod.Name }

// Ready reports whether the Service sends calls to the Pod.
func (r *Replica) Ready() bool {
	return slices.ContainsFunc(r.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// port returns the ops port.
func (r *Replica) port() int {
	for _, c := range r.Pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == opsPortName {
				return int(p.ContainerPort)
			}
		}
	}
	return opsPort
}

// ConfigMap returns the name of the ConfigMap that the Pod mounts as its policy, or an empty string.
func (r *Replica) ConfigMap() string {
	for _, v := range r.Pod.Spec.Volumes {
		if v.Name == "policy" && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// Replicas lists the serving Pods by name. It leaves out Pods that have ended or are terminating, because they do not
// get a new policy.
func (c *Cluster) Replicas(ctx context.Context) ([]Replica, error) {
	list, err := c.Client.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: webhookPods})
	if err != nil {
		return nil, fmt.Errorf("list the replicas: %w", err)
	}
	var all []Replica
	for _, pod := range list.Items {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !ended && pod.DeletionTimestamp == nil {
			all = append(all, Replica{pod})
		}
	}
	slices.SortFunc(all, func(a, b Replica) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, nil
}

// Policy is the report of a replica about its policy, from /policy.
type Policy struct {
	Hash        string    `json:"hash"`
	Since       time.Time `json:"since"`
	Warnings    []string  `json:"warnings"`
	Stale       bool      `json:"stale"` // the current files could not be loaded
	LastFailure *struct {
		At    time.Time `json:"at"`
		Error string    `json:"error"`
	} `json:"lastFailure"`
}

// Answer is the status that a replica reports.
type Answer struct {
	Replica
	Policy   Policy
	Version  string
	NotAfter time.Time // of its serving certificate; zero if unknown
	Err      error     // the reason if the report, or a part of it, is missing
}

// The limits of responses from a replica. A policy has at most 100 warnings. The size of the metrics grows with the
// policy.
const (
	maxPolicyPage = 1 << 20
	maxMetrics    = 16 << 20
)

// askTimeout limits one response of a replica, including the port-forward. A distant kubelet takes about a second.
const askTimeout = 10 * time.Second

// Ask queries all replicas concurrently. If all is false, it reads only their policies.
func (c *Cluster) Ask(ctx context.Context, replicas []Replica, all bool) []Answer {
	reports := make([]Answer, len(replicas))
	var asked sync.WaitGroup
	for i, r := range replicas {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			reports[i] = c.ask(ctx, r, all)
		})
	}
	asked.Wait()
	return reports
}

func (c *Cluster) ask(ctx context.Context, r Replica, all bool) Answer {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return c.Dialer.Dial(ctx, r.Name(), r.port())
	}}
	defer transport.CloseIdleConnections()
	client := apiserver.Over(&url.URL{Scheme: "http", Host: "replica"}, transport)
	report := Answer{Replica: r}
	state, err := page(ctx, client, "/policy", maxPolicyPage)
	if err == nil {
		err = json.Unmarshal(state, &report.Policy)
	}
	if err != nil {
		report.Err = err
		return report
	}
	if all {
		metrics, err := page(ctx, client, "/metrics", maxMetrics)
		if err == nil {
			err = report.read(metrics)
		}
		report.Err = err
	}
	return report
}

// page returns a page of a replica.
func page(ctx context.Context, replica *apiserver.Client, path string, max int64) ([]byte, error) {
	data, err := replica.Get(ctx, path, max)
	if code := apiserver.Answered(err); code != 0 {
		return nil, fmt.Errorf("%s returned status %d", path, code)
	}
	return data, err
}

// read reads the version and the expiry of the certificate from the metrics of a replica.
func (r *Answer) read(metrics []byte) error {
	families, err := Parse(metrics)
	if err != nil {
		return err
	}
	for _, m := range families["evergate_build_info"].GetMetric() {
		r.Version = Label(m, "version")
	}
	for _, m := range families["evergate_certificate_not_after_timestamp_seconds"].GetMetric() {
		if Label(m, "use") == "serving" {
			r.NotAfter = time.Unix(int64(m.GetGauge().GetValue()), 0)
		}
	}
	return nil
}

// Parse parses metrics in the Prometheus text format.
func Parse(metrics []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(metrics))
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	return families, nil
}

// Label returns the value of a label, or an empty string.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
