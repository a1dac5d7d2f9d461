package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

func newStatus(a *app) *cobra.Command {
	var format output.Flag
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
		RunE: func(c *cobra.Command, _ []string) error { return a.status(c.Context(), format.Format()) },
	}
	formatFlag(c, &format, "the status")
	return c
}

func (a *app) status(ctx context.Context, format output.Format) error {
	c, err := a.cluster(ctx)
	if err != nil {
		return err
	}
	s := &status{now: a.now(), namespace: c.Namespace, namespaces: -1}
	s.collect(ctx, c)
	s.findProblems()
	if format == output.Text {
		err = s.write(a.stdout)
	} else {
		err = output.Encode(a.stdout, format, s.report())
	}
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	switch {
	case len(s.problems) > 0:
		return &foundError{}
	case !s.listed:
		return errors.New("cannot list the replicas, so the state of Evergate is unknown")
	}
	return nil
}

// status is the state that the command shows.
type status struct {
	now       time.Time
	namespace string

	policy      *policy.Policy // in the ConfigMap; nil if it is unknown
	configMap   string
	found       bool   // the ConfigMap exists
	missing     bool   // the ConfigMap does not exist
	applied     string // the field manager
	appliedAt   time.Time
	replicas    []live.Answer
	listed      bool // the replicas could be listed
	hooks       []hook
	elsewhere   []string // other namespaces that webhooks of Evergate call
	hooksRead   bool     // all webhook configurations could be read
	servers     []string // Deployments that run evergate serve; read only if there are no webhooks and no replicas
	serversRead bool
	native      int      // number of policies of the backstop
	nativeOf    []string // the hashes of the policies from which they were exported
	filesOf     string   // the same hash in files of the API server; may be empty
	namespaces  int      // -1 if unknown
	matched     []string // by a webhook other than guardHook
	nodes       []corev1.Node
	failedOpen  map[string]int
	started     time.Time // start of the API server that answered
	unread      []string
	problems    []string
}

// collect reads everything that status shows, and records the parts that could not be read.
func (s *status) collect(ctx context.Context, c *live.Cluster) {
	replicas, err := c.Replicas(ctx)
	s.listed = err == nil
	s.note("replicas", err)
	s.replicas = c.Ask(ctx, replicas, true)
	s.readPolicy(ctx, policies(c, replicas))
	all, err := readAllHooks(ctx, c)
	s.hooks, s.elsewhere = split(all, c.Namespace)
	s.hooksRead = err == nil
	s.note("webhooks", err)
	s.readBackstop(ctx, c)
	if s.native > 0 && len(all)+len(s.replicas) == 0 {
		s.servers, err = serving(ctx, c)
		s.serversRead = err == nil
		s.note("Deployments", err)
	}
	list, err := c.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	s.note("namespaces", err)
	if err == nil {
		s.namespaces, s.matched = len(list.Items), match(s.hooks, list.Items)
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
		s.unread = append(s.unread, what+": "+text.Printable(err.Error(), maxError))
	}
}

// The limits of the input. An error of the API server has about 200 bytes, and its metrics in a large cluster have
// about 20 MiB.
const (
	maxError         = 500
	maxServerMetrics = 128 << 20
)

func (s *status) readPolicy(ctx context.Context, p *revise.Policies) {
	s.configMap = p.Name
	cm, err := p.Current(ctx)
	s.note("ConfigMap "+p.Name, err)
	s.found, s.missing = cm != nil, cm == nil && err == nil
	if cm == nil {
		return
	}
	for _, m := range cm.ManagedFields {
		if m.Time != nil && m.Time.After(s.appliedAt) {
			s.applied, s.appliedAt = m.Manager, m.Time.Time
		}
	}
	if s.policy, err = policy.Load(revise.Files(cm)...); err != nil {
		s.problems = append(s.problems, "the policy in the ConfigMap does not load: "+
			text.Printable(strings.ReplaceAll(err.Error(), "\n", "; "), maxError))
	}
}

func (s *status) readBackstop(ctx context.Context, c *live.Cluster) {
	installed, _, err := c.Native(ctx)
	s.note("backstop", err)
	s.native, s.nativeOf = len(installed.Policies()), installed.Hashes()
	s.filesOf, err = c.NativeFiles(ctx)
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
	s.failedOpen = map[string]int{}
	for _, m := range families[failOpenMetric].GetMetric() {
		s.failedOpen[live.Label(m, "name")] += int(m.GetUntyped().GetValue() + m.GetCounter().GetValue())
	}
	for _, m := range families[startMetric].GetMetric() {
		s.started = time.Unix(int64(m.GetUntyped().GetValue()+m.GetGauge().GetValue()), 0)
	}
	return nil
}

// soon is the time before the expiry of a certificate at which it is a problem. With the base manifests, cert-manager
// renews certificates 30 days before they expire, so at that time the renewal has failed for three weeks.
const soon = 7 * 24 * time.Hour

// findProblems finds problems.
func (s *status) findProblems() {
	wrong := func(format string, args ...any) { s.problems = append(s.problems, fmt.Sprintf(format, args...)) }
	switch none := len(s.replicas) == 0 && s.listed && !s.nativeOnly(); {
	case none && len(s.servers) > 0:
		wrong("there are no replicas in %s, but the Deployment %s runs evergate serve", s.namespace, text.List(s.servers))
	case none:
		wrong("there are no replicas")
	}
	if s.native > 0 && s.missing {
		wrong("there is no ConfigMap %s in %s, which contains the policy of the backstop", s.configMap, s.namespace)
	}
	for i := range s.replicas {
		r := &s.replicas[i]
		if !r.Ready() {
			wrong("%s is not ready", r.Name())
		}
		switch {
		case r.Err != nil:
			wrong("%s does not answer: %s", r.Name(), text.Printable(r.Err.Error(), maxError))
		case r.Policy.Stale && r.Policy.LastFailure != nil:
			wrong("%s cannot load its policy file: %s", r.Name(), text.Printable(r.Policy.LastFailure.Error, maxError))
		case s.policy != nil && r.Policy.Hash != s.policy.Hash():
			wrong("the policy of %s differs from the ConfigMap %s", r.Name(), s.configMap)
		}
		if !r.NotAfter.IsZero() && r.NotAfter.Sub(s.now) < soon {
			wrong("the certificate of %s expires %s", r.Name(), s.until(r.NotAfter))
		}
	}
	if s.policy != nil && s.native > 0 && !slices.Equal(s.nativeOf, []string{s.policy.Hash()}) {
		wrong("the backstop enforces another policy than the one in the ConfigMap %s: renew it with kubectl evergate apply "+
			"or evergate export", s.configMap)
	}
	if s.policy != nil && s.filesOf != "" && s.filesOf != s.policy.Hash() {
		wrong("files of the API server enforce another policy than the one in the ConfigMap %s: write them again with "+
			"evergate export --target static", s.configMap)
	}
	s.checkPlacement(wrong)
	s.checkCAs(wrong)
	switch none := len(s.hooks) == 0 && s.hooksRead && !s.nativeOnly(); {
	case none && len(s.elsewhere) > 0:
		wrong("the webhooks of Evergate call Services in %s and not in %s: set the namespace of Evergate with "+
			"--evergate-namespace", text.List(s.elsewhere), s.namespace)
	case none:
		wrong("there are no webhooks of Evergate that call a URL or a Service in %s", s.namespace)
	}
}

// nativeOnly reports whether the cluster has native policies and their policy, and neither webhooks nor replicas nor a
// Deployment for replicas.
func (s *status) nativeOnly() bool {
	absent := s.hooksRead && len(s.hooks)+len(s.elsewhere) == 0 && s.listed && len(s.replicas) == 0 &&
		s.serversRead && len(s.servers) == 0
	return absent && s.native > 0 && s.found
}

// checkPlacement finds replicas that all run on one node or in one zone, although other nodes accept Pods.
func (s *status) checkPlacement(wrong func(format string, args ...any)) {
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		all, used := map[string]bool{}, map[string]bool{}
		for i := range s.nodes {
			n := &s.nodes[i]
			value, labelled := n.Labels[key]
			if labelled && !n.Spec.Unschedulable && len(n.Spec.Taints) == 0 {
				all[value] = true
			}
			if slices.ContainsFunc(s.replicas, func(r live.Answer) bool { return r.Pod.Spec.NodeName == n.Name }) {
				used[value] = true
			}
		}
		if len(s.replicas) > 1 && len(used) == 1 && len(all) > 1 {
			wrong("all replicas run on nodes with %s=%s, so none is left if these nodes fail", key,
				slices.Collect(maps.Keys(used))[0])
			return // a node is in one zone
		}
	}
}

// checkCAs finds webhooks without a CA, and webhooks whose CA expires soon. It reports each of the two in one
// sentence, because webhooks usually share the CA.
func (s *status) checkCAs(wrong func(format string, args ...any)) {
	var without, ending []string
	first := s.now.Add(soon)
	for i := range s.hooks {
		h := &s.hooks[i]
		switch end := lastEnd(h.ca); {
		case len(h.ca) == 0 && h.url != "": // a CA that the API server trusts by default may have signed the certificate
		case len(h.ca) == 0:
			without = append(without, h.name)
		case end.Sub(s.now) < soon:
			ending = append(ending, h.name)
			if end.Before(first) {
				first = end
			}
		}
	}
	if len(without) > 0 {
		wrong("webhooks without a CA, so each call fails: %s", text.List(without))
	}
	if len(ending) > 0 {
		wrong("the CA expires %s, for the webhooks %s", s.until(first), text.List(ending))
	}
}
