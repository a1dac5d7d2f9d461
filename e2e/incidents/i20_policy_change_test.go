package incidents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/process"
)

// I20: a policy was changed, and for a minute the replicas used different policies.

// operator is a user with only the permissions of the Role in the component plugin.
const operator = "operator"

func TestI20(t *testing.T) {
	try(t, incident{
		id: "I20", what: fmt.Sprintf("kubectl evergate apply --wait, %d times", changes()),
		guard:   "the plugin makes kubelet update the policy immediately, and returns when every replica reports it",
		product: cluster.Product{Components: []string{"plugin"}},
		happen:  changePolicy,
		lacking: "no permission to patch Pods: kubelet updates the policy in its next sync",
		without: func(t *testing.T, l *lab) {
			l.Kubectl(t, "", "-n", system, "patch", "role", "evergate-plugin", "--type=json",
				`-p=[{"op": "test", "path": "/rules/1/resources/0", "value": "pods"},
				  {"op": "replace", "path": "/rules/1/verbs", "value": ["get", "list"]}]`)
		},
	})
}

// changes returns the number of changes. A hundred show a distribution, and take five minutes.
func changes() int {
	switch {
	case long():
		return 100
	case testing.Short():
		return 3
	default:
		return 10
	}
}

// changePolicy repeatedly changes the policy with the plugin. The guarantee is broken if the plugin reports that a
// replica does not have the policy, or if a replica does not have it although the plugin reports that all have it. A
// control run stops at the first such event.
func changePolicy(t *testing.T, l *lab, control bool) outcome {
	t.Cleanup(func() { l.fix(t) })
	p := l.plugin(t)
	var o outcome
	var took []time.Duration
	for i := range changes() {
		text := fmt.Sprintf("%s- {name: change-%d, mode: audit, types: {denied: [ExternalName]}}\n", policy, i)
		begun := time.Now()
		hash, err := p.apply(t.Context(), text)
		took = append(took, time.Since(begun))
		if err != nil {
			o.breaks("change %d: %v", i+1, err)
		} else {
			o.add(l.haveAll(t, hash))
		}
		if control && len(o.broken) > 0 {
			return o
		}
	}
	slices.Sort(took)
	inTime, _ := slices.BinarySearch(took, goal+1)
	of := func(percent int) float64 { return took[(len(took)*percent+99)/100-1].Seconds() }
	o.figure("from the command to its end, all replicas with the policy",
		"half within %.1f s, 95 %% within %.1f s, all within %.1f s", of(50), of(95), of(100))
	o.figure(fmt.Sprintf("within %s", goal), "%d of %d", inTime, len(took))
	return o
}

// goal is the time within which 95 of 100 changes should be active. Slower changes are only recorded.
const goal = 5 * time.Second

// haveAll checks the hash of the policy in every replica.
func (l *lab) haveAll(t *testing.T, hash string) outcome {
	t.Helper()
	var o outcome
	pods, err := l.replicas(t.Context())
	must(t, err)
	for _, pod := range pods {
		set, err := l.count(t.Context(), pod.Name)
		must(t, err)
		if set.Sum("evergate_policy_info", map[string]string{"hash": hash}) != 1 {
			o.breaks("%s does not have the policy %s, but the plugin reports that it does", pod.Name, hash)
		}
	}
	return o
}

// plugin is kubectl evergate, run by the user operator.
type plugin struct {
	binary, kubeconfig, dir string
}

// plugin builds the plugin, and binds the Role to the user.
func (l *lab) plugin(t *testing.T) *plugin {
	t.Helper()
	p := &plugin{filepath.Join(t.TempDir(), "kubectl-evergate"), l.Kubeconfig, t.TempDir()}
	must(t, process.BuildPlugin(t.Context(), filepath.Dir(l.Dir), p.binary))
	l.Kubectl(t, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %s, namespace: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: evergate-plugin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, operator, system), "apply", "-f", "-")
	return p
}

// patience is how long a change may take before the plugin gives up. It is less than half of the minute that the
// kubelet may take to update a ConfigMap by itself, and more than a busy machine needs.
const patience = 25 * time.Second

// apply applies a policy and returns its hash.
func (p *plugin) apply(ctx context.Context, text string) (hash string, err error) {
	file := filepath.Join(p.dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, p.binary, "apply", "-f", file, "--no-plan", "--timeout", patience.String(),
		"--kubeconfig", p.kubeconfig, "--as", operator)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s%s", err, out, &said)
	}
	_, rest, _ := strings.Cut(string(out), "policy ")
	hash, _, _ = strings.Cut(rest, " ")
	return hash, nil
}
