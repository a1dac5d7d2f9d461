package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

func newStatus(a *app) *cobra.Command {
	var format *output.Format
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the state of Evergate on one screen",
		Long: `Status shows the replicas with their versions, policies and certificates, the webhooks with their failurePolicy
and CA, the namespaces that they match, and the number of calls that the API server let through because no replica
answered. It leaves out and lists everything that you may not read.

Exit code 1 means that there is a problem: a replica that is not ready or does not have the policy of the ConfigMap, a
certificate or CA that expires within a week, replicas that all run on one node or in one zone, a webhook without a CA,
or a backstop that enforces another policy. Exit code 2 means that the replicas cannot be listed.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.status(c.Context(), *format) },
	}
	format = cli.DefineFormat(c.Flags(), "the status")
	return c
}

func (a *app) status(ctx context.Context, format output.Format) error {
	c, err := a.cluster(ctx)
	if err != nil {
		return err
	}
	s := emptyStatus(c.Namespace, a.now())
	s.collect(ctx, c)
	s.findProblems()
	if err := cli.Write(a.stdout, format, s, output.Options{}); err != nil {
		return err
	}
	switch {
	case len(s.Problems) > 0:
		return cli.Exit(cli.Found)
	case !s.listed:
		return errors.New("cannot list the replicas, so the state of Evergate is unknown")
	}
	return nil
}

// status is the state that the command shows. Its JSON is an interface. Unknown fields are left out.
type status struct {
	Namespace string `json:"namespace"`
	Policy    struct {
		ConfigMap string    `json:"configMap"`
		Hash      string    `json:"hash,omitempty"` // of a policy that loads
		Applied   time.Time `json:"applied,omitzero"`
		By        string    `json:"by,omitempty"` // the field manager
	} `json:"policy"`
	Replicas []replica `json:"replicas"`
	Webhooks []hook    `json:"webhooks"`
	Native   struct {
		Policies int      `json:"policies"`
		Of       []string `json:"of,omitempty"`    // the hashes of the policies from which they were exported
		Files    string   `json:"files,omitempty"` // the hash in files of the API server
	} `json:"native"`
	Namespaces *int     `json:"namespaces,omitempty"` // in the cluster
	Matched    []string `json:"matched,omitempty"`    // namespaces that a webhook other than guardHook matches
	NotRead    []string `json:"notRead,omitempty"`
	Problems   []string `json:"problems"`

	now         time.Time
	found       bool     // the ConfigMap exists
	missing     bool     // the ConfigMap does not exist
	listed      bool     // the replicas could be listed
	elsewhere   []string // other namespaces that webhooks of Evergate call
	hooksRead   bool     // all webhook configurations could be read
	servers     []string // Deployments that run evergate serve; read only if there are no webhooks and no replicas
	serversRead bool
	nodes       []corev1.Node
	started     time.Time // start of the API server that answered; zero if its metrics are unknown
}

func emptyStatus(namespace string, now time.Time) *status {
	return &status{Namespace: namespace, Replicas: []replica{}, Webhooks: []hook{}, Problems: []string{}, now: now}
}

// replica is the state of a replica.
type replica struct {
	Name     string    `json:"name"`
	Node     string    `json:"node,omitempty"`
	Ready    bool      `json:"ready"`
	Version  string    `json:"version,omitempty"`
	Policy   string    `json:"policy,omitempty"` // its hash
	Since    time.Time `json:"since,omitzero"`
	Stale    bool      `json:"stale,omitempty"`   // it could not load a newer policy
	NotAfter time.Time `json:"notAfter,omitzero"` // of its certificate
	Error    string    `json:"error,omitempty"`   // the reason if it does not answer

	failure string // the error of the last policy file that it could not load
}

func newReplica(a *live.Answer) replica {
	r := replica{
		Name: a.Name(), Node: a.Pod.Spec.NodeName, Ready: a.Ready(), Version: a.Version, Policy: a.Policy.Hash,
		Since: a.Policy.Since.UTC(), Stale: a.Policy.Stale, NotAfter: a.NotAfter.UTC(),
	}
	if a.Err != nil {
		r.Error = a.Err.Error()
	}
	if a.Policy.LastFailure != nil {
		r.failure = a.Policy.LastFailure.Error
	}
	return r
}

// collect reads everything that status shows, and records the parts that could not be read.
func (s *status) collect(ctx context.Context, c *live.Cluster) {
	replicas, err := c.Replicas(ctx)
	s.listed = err == nil
	s.note("replicas", err)
	answers := c.Ask(ctx, replicas, true)
	for i := range answers {
		s.Replicas = append(s.Replicas, newReplica(&answers[i]))
	}
	s.readPolicy(ctx, policies(c, replicas))
	hooks, err := readWebhooks(ctx, c)
	s.Webhooks, s.elsewhere = append(s.Webhooks, hooks.here...), hooks.elsewhere
	s.hooksRead = err == nil
	s.note("webhooks", err)
	s.readBackstop(ctx, c)
	if s.Native.Policies > 0 && hooks.none() && len(replicas) == 0 {
		s.servers, err = serving(ctx, c)
		s.serversRead = err == nil
		s.note("Deployments", err)
	}
	list, err := c.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	s.note("namespaces", err)
	if err == nil {
		s.Namespaces, s.Matched = new(len(list.Items)), match(s.Webhooks, list.Items)
	}
	nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	s.note("nodes", err)
	if err == nil {
		s.nodes = nodes.Items
	}
	metrics, err := c.Objects.Get(ctx, "/metrics", maxServerMetrics)
	s.note("metrics of the API server", err)
	s.note("metrics of the API server", s.readMetrics(metrics))
}

// note records a part that could not be read.
func (s *status) note(what string, err error) {
	if err != nil {
		s.NotRead = append(s.NotRead, what+": "+text.Printable(err.Error(), maxError))
	}
}

// The limits of the input. An error of the API server has about 200 bytes, and its metrics in a large cluster have
// about 20 MiB.
const (
	maxError         = 500
	maxServerMetrics = 128 << 20
)

func (s *status) readPolicy(ctx context.Context, p *revise.Policies) {
	s.Policy.ConfigMap = p.Name
	cm, err := p.Current(ctx)
	s.note("ConfigMap "+p.Name, err)
	s.found, s.missing = cm != nil, cm == nil && err == nil
	if cm == nil {
		return
	}
	for _, m := range cm.ManagedFields {
		if m.Time != nil && m.Time.After(s.Policy.Applied) {
			s.Policy.By, s.Policy.Applied = m.Manager, m.Time.UTC()
		}
	}
	loaded, err := policy.Load(revise.Files(cm)...)
	if err != nil {
		s.wrong("the policy in the ConfigMap does not load: %s",
			text.Printable(strings.ReplaceAll(err.Error(), "\n", "; "), maxError))
		return
	}
	s.Policy.Hash = loaded.Hash()
}

func (s *status) readBackstop(ctx context.Context, c *live.Cluster) {
	installed, _, err := c.Native(ctx)
	s.note("backstop", err)
	s.Native.Policies, s.Native.Of = len(installed.Policies()), installed.Hashes()
	s.Native.Files, err = c.NativeFiles(ctx)
	s.note("files of the API server", err)
}

// The names of metrics of the API server.
const (
	failOpenMetric = "apiserver_admission_webhook_fail_open_count"
	startMetric    = "process_start_time_seconds"
)

// readMetrics reads the calls that failed open from the metrics of the API server. It does not parse the other
// metrics.
func (s *status) readMetrics(metrics []byte) error {
	if metrics == nil {
		return nil
	}
	var lines []byte
	for line := range bytes.Lines(metrics) {
		if bytes.HasPrefix(line, []byte(failOpenMetric)) || bytes.HasPrefix(line, []byte(startMetric)) {
			lines = append(lines, line...)
		}
	}
	families, err := live.Parse(lines)
	if err != nil {
		return err
	}
	calls := map[string]int{}
	for _, m := range families[failOpenMetric].GetMetric() {
		calls[live.Label(m, "name")] += int(m.GetUntyped().GetValue() + m.GetCounter().GetValue())
	}
	for i := range s.Webhooks {
		s.Webhooks[i].FailedOpen = new(calls[s.Webhooks[i].Name])
	}
	for _, m := range families[startMetric].GetMetric() {
		s.started = time.Unix(int64(m.GetUntyped().GetValue()+m.GetGauge().GetValue()), 0)
	}
	return nil
}
