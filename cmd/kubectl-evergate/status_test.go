package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/offline/output"
)

// TestStatusOfTrouble checks the status of a cluster with many problems, in which the user may not read everything.
func TestStatusOfTrouble(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	const hash = "ab0123456789"
	replica := func(name string, ready corev1.ConditionStatus) live.Replica {
		return live.Replica{Pod: corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "n1"},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}}
	}
	s := emptyStatus("evergate-system", now)
	s.Policy.ConfigMap, s.Policy.Hash = "evergate-policy", hash
	s.Policy.By, s.Policy.Applied = "kubectl-evergate", now.Add(-90*time.Minute)
	for _, answer := range []live.Answer{
		{
			Replica: replica("evergate-a", corev1.ConditionTrue), Version: "v0.1.0",
			Policy: live.Policy{Hash: "0123456789ab", Since: now.Add(-72 * time.Hour)}, NotAfter: now.Add(30 * time.Hour),
		},
		{Replica: replica("evergate-b", corev1.ConditionFalse), Err: errors.New("port-forward to evergate-b: refused")},
	} {
		s.Replicas = append(s.Replicas, newReplica(&answer))
	}
	s.Native.Policies, s.Native.Of, s.Native.Files = 3, []string{"0123456789ab", hash}, "0123456789ab"
	s.Webhooks = []hook{{Name: "pods.validate.evergate.dev", FailurePolicy: admissionv1.Ignore}}
	s.note("namespaces", errors.New(`namespaces is forbidden: User "joe" cannot list`))
	if err := s.readMetrics([]byte("# TYPE apiserver_admission_webhook_fail_open_count counter\n" +
		"apiserver_admission_webhook_fail_open_count{name=\"pods.validate.evergate.dev\",type=\"validating\"} 3\n" +
		"apiserver_admission_webhook_fail_open_count{name=\"other\",type=\"validating\"} 5\n" +
		"broken{\nprocess_start_time_seconds 1.7639e+09\n")); err != nil {
		t.Fatal(err)
	}
	s.started = now.Add(-5 * time.Hour)
	s.findProblems()
	var got output.Printer
	s.WriteText(&got)
	want := `Evergate in evergate-system
Policy: ` + hash + ` in the ConfigMap evergate-policy, written 90m ago by kubectl-evergate
Backstop: 3 native policies, exported from policy 0123456789ab, ` + hash + `
Files of the API server: exported from policy 0123456789ab

REPLICA     NODE  READY  VERSION  POLICY        SINCE   CERTIFICATE EXPIRES
evergate-a  n1    yes    v0.1.0   0123456789ab  3d ago  in 30h
evergate-b  n1    no     -        -             -       -

WEBHOOK                     FAILURE POLICY  CA EXPIRES  NAMESPACES  FAILED OPEN
pods.validate.evergate.dev  Ignore          none        -           3
Failed open: 3 calls since the start of this API server 5h ago; each API server has its own counter

Not read:
  namespaces: namespaces is forbidden: User "joe" cannot list

Problems:
  the policy of evergate-a differs from the ConfigMap evergate-policy
  the certificate of evergate-a expires in 30h
  evergate-b is not ready
  evergate-b does not answer: port-forward to evergate-b: refused
  the backstop enforces another policy than the one in the ConfigMap evergate-policy: renew it with kubectl evergate apply or evergate export
  files of the API server enforce another policy than the one in the ConfigMap evergate-policy: write them again with evergate export --target static
  webhooks without a CA, so each call fails: pods.validate.evergate.dev
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

// TestTextOfClusters checks that text from the cluster cannot control a terminal or a pipeline, and cannot add lines.
func TestTextOfClusters(t *testing.T) {
	show := func(s string) string {
		var out output.Printer
		a := &app{stderr: &out}
		shown := &status{
			Namespace: s, Replicas: []replica{{Name: s, Node: s, Version: s, Policy: s}}, Namespaces: new(1),
			Webhooks: []hook{{Name: s, FailurePolicy: admissionv1.FailurePolicyType(s), URL: s}},
			Matched:  []string{s}, NotRead: []string{s}, Problems: []string{s},
		}
		shown.Policy.ConfigMap, shown.Policy.Hash, shown.Policy.By = s, s, s
		shown.Native.Policies, shown.Native.Of, shown.Native.Files = 1, []string{s}, s
		shown.WriteText(&out)
		revisions{{Hash: s, By: s, Note: s}}.WriteText(&out)
		printLine(&out, "%s", s)
		a.say("%v", strings.ReplaceAll(s, "\n", " ")) // each line of an error begins with the name of the command
		return out.String()
	}
	plain, hostile := show("a b"), show("a\n\x1b[2J\u202e\t##vso[x]b")
	if strings.ContainsAny(hostile, "\x1b\u202e\t") || strings.Contains(hostile, "##") ||
		strings.Count(hostile, "\n") != strings.Count(plain, "\n") {
		t.Errorf("%q", hostile)
	}
}

// TestStatusOfNativeOnly checks the status of a cluster with native policies and without webhooks and replicas.
func TestStatusOfNativeOnly(t *testing.T) {
	for _, test := range []struct {
		native   int
		problems []string
	}{
		{2, nil},
		{0, []string{"there are no replicas", "there are no webhooks of Evergate that call a URL or a Service in " +
			"evergate-system"}},
	} {
		s := &status{Namespace: "evergate-system", found: true, listed: true, hooksRead: true, serversRead: true}
		s.Native.Policies = test.native
		s.findProblems()
		if diff := cmp.Diff(test.problems, s.Problems); diff != "" {
			t.Errorf("%d native policies (-want +got):\n%s", test.native, diff)
		}
		var out output.Printer
		s.WriteText(&out)
		line := "\nOnly the native policies enforce the policy: there are no webhooks and no replicas\n"
		if shown := strings.Contains(out.String(), line); shown != (test.native > 0) {
			t.Errorf("%d native policies:\n%s", test.native, &out)
		}
	}
}

// TestHooksByURL checks that a webhook with a URL is recognized by its name and does not need a CA.
func TestHooksByURL(t *testing.T) {
	address, path := "https://evergate.example:8443/validate/pods", "/validate/services"
	service := &admissionv1.ServiceReference{Namespace: "evergate-system", Name: "evergate", Path: &path}
	var s status
	for _, client := range []admissionv1.WebhookClientConfig{{URL: &address}, {Service: service}} {
		s.Webhooks = append(s.Webhooks, newHook(&admissionv1.MutatingWebhook{
			Name: "pods.validate.evergate.dev", ClientConfig: client, NamespaceSelector: &metav1.LabelSelector{},
		}))
	}
	if got := []string{s.Webhooks[0].URL, s.Webhooks[0].path, s.Webhooks[1].URL, s.Webhooks[1].path}; !slices.Equal(got,
		[]string{"https://evergate.example:8443", "/validate/pods", "", "/validate/services"}) {
		t.Errorf("%q", got)
	}
	s.Webhooks = s.Webhooks[:1]
	s.listed = true
	s.findProblems()
	var out output.Printer
	s.WriteText(&out)
	if strings.Contains(out.String(), "without a CA") || strings.Contains(out.String(), "no webhook") ||
		!strings.Contains(out.String(), "Called by URL: https://evergate.example:8443\n") {
		t.Error(out.String())
	}
}

// TestPlacement checks replicas on nodes a and b of zone x, while the cluster has other nodes.
func TestPlacement(t *testing.T) {
	node := func(name, zone string, taints ...corev1.Taint) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zone,
		}}, Spec: corev1.NodeSpec{Taints: taints}}
	}
	on := func(nodes ...string) (all []replica) {
		for _, n := range nodes {
			all = append(all, replica{Node: n})
		}
		return all
	}
	const (
		oneNode = "all replicas run on nodes with kubernetes.io/hostname=a, so none is left if these nodes fail"
		oneZone = "all replicas run on nodes with topology.kubernetes.io/zone=x, so none is left if these nodes fail"
	)
	tainted := node("c", "y", corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoSchedule})
	a, b, c := node("a", "x"), node("b", "x"), node("c", "y")
	for name, test := range map[string]struct {
		nodes    []corev1.Node
		replicas []replica
		want     string
	}{
		"one node":           {[]corev1.Node{a, b, c}, on("a", "a"), oneNode},
		"one zone":           {[]corev1.Node{a, b, c}, on("a", "b"), oneZone},
		"two zones":          {[]corev1.Node{a, b, c}, on("a", "c"), ""},
		"one replica":        {[]corev1.Node{a, b, c}, on("a"), ""},
		"no other node":      {[]corev1.Node{a}, on("a", "a"), ""},
		"other zone tainted": {[]corev1.Node{a, b, tainted}, on("a", "b"), ""},
		"unknown nodes":      {nil, on("a", "a"), ""},
	} {
		s := &status{nodes: test.nodes, Replicas: test.replicas}
		s.checkPlacement()
		if got := strings.Join(s.Problems, "\n"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
