package kit

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/evergate/evergate/e2e/internal/controlplane"
	"github.com/evergate/evergate/e2e/internal/tool"
)

// cluster is the control plane of one test, with the CRDs of cert-manager. No process serves its webhooks.
type cluster struct {
	*controlplane.ControlPlane
	bin        controlplane.Binaries
	kubeconfig string
	admin      kubernetes.Interface
}

// start starts a control plane. If its binaries do not exist, the test is skipped, or fails if EVERGATE_E2E_REQUIRED is
// set. flags contains additional kube-apiserver flags.
//
// It copies the data of a control plane with the types installed, because installing them takes longer than starting.
// Flags that change the range of Services need separate data.
func start(t testing.TB, flags ...string) *cluster {
	t.Helper()
	bin, data := binaries(t), ""
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--service-cluster-ip-range") }) {
		data = withTypes(t, bin)
	}
	c, end := boot(t, bin, data, t.TempDir(), flags...)
	t.Cleanup(end)
	if data == "" {
		c.installTypes(t)
	}
	c.awaitTypes(t)
	return c
}

// binaries returns the binaries of a control plane, or skips the test.
func binaries(t testing.TB) controlplane.Binaries {
	t.Helper()
	bin, err := controlplane.Find()
	tool.Require(t, err)
	return bin
}

// The first versions of Kubernetes with a target of evergate export: ValidatingAdmissionPolicies with the list library,
// MutatingAdmissionPolicies that are on by default, and files of manifest-based admission that are on by default.
const (
	validatingVersion = "1.35"
	mutatingVersion   = "1.36"
	staticVersion     = "1.37"
)

// needs skips the test if the API server is older than a version of Kubernetes.
func needs(t testing.TB, version string) {
	t.Helper()
	if olderThan(t, version) {
		t.Skip("this test needs Kubernetes " + version + " or later")
	}
}

// olderThan reports whether the API server is older than a version of Kubernetes, for example 1.37. The minor numbers
// have two digits.
func olderThan(t testing.TB, version string) bool {
	t.Helper()
	program := filepath.Join(string(binaries(t)), "kube-apiserver")
	out, err := exec.CommandContext(t.Context(), program, "--version").Output() // Kubernetes v1.37.2
	must(t, err)
	return strings.TrimPrefix(string(out), "Kubernetes v") < version
}

// withTypes returns the directory of a control plane that has ended, with the types installed.
func withTypes(t testing.TB, bin controlplane.Binaries) string {
	t.Helper()
	copied.once.Do(func() {
		c, end := boot(t, bin, "", copied.dir)
		defer end()
		c.installTypes(t)
		copied.ready = true
	})
	if !copied.ready {
		t.Fatal("the control plane that others are copied from did not start")
	}
	return copied.dir
}

// boot starts a control plane in dir, with the objects of the control plane in data. It runs until end is called.
func boot(
	t testing.TB, bin controlplane.Binaries, data, dir string, flags ...string,
) (c *cluster, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	plane, err := controlplane.StartFrom(ctx, bin, data, dir, flags...)
	end = func() {
		cancel()
		plane.Wait()
	}
	if err != nil {
		end()
		t.Fatal(err)
	}
	c = &cluster{ControlPlane: plane, bin: bin, kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := plane.Admin().WriteKubeconfig(c.kubeconfig); err != nil {
		end()
		t.Fatal(err)
	}
	c.admin = client(t, plane.Admin())
	return c, end
}

// awaitTypes waits until the API server serves the types. After a start it may be ready before it does.
func (c *cluster) awaitTypes(t testing.TB) {
	t.Helper()
	for _, version := range []string{"cert-manager.io/v1", "monitoring.coreos.com/v1"} {
		await(t, version+" is not served", func(context.Context) bool {
			_, err := c.admin.Discovery().ServerResourcesForGroupVersion(version)
			return err == nil
		})
	}
}

// installTypes applies the CRDs from cert-manager's Go module, and replacements for the CRDs of the Prometheus
// operator, whose module contains only the types. TestTypes checks the manifests against these types.
func (c *cluster) installTypes(t testing.TB) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/cert-manager/cert-manager").Output()
	must(t, err)
	crds := filepath.Join(strings.TrimSpace(string(out)), "deploy/crds")
	c.kubectl(t, "", "apply", "--server-side", "-f", crds, "-f", "testdata/monitoring-crds.yaml")
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout="+hangs.String(), "crd", "--all")
}

// kubectl runs kubectl as the admin. It fails the test if the command fails or writes to stderr, for example a warning.
func (c *cluster) kubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.bin.Kubectl(), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+filepath.Dir(c.kubeconfig))
	cmd.Stdin = strings.NewReader(stdin)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, &said)
	}
	return string(out)
}

// as returns a client of a user.
func (c *cluster) as(t testing.TB, name string, groups ...string) kubernetes.Interface {
	t.Helper()
	user, err := c.User(name, groups...)
	must(t, err)
	return client(t, user)
}

func client(t testing.TB, user *controlplane.User) kubernetes.Interface {
	t.Helper()
	set, err := kubernetes.NewForConfig(user.Config())
	must(t, err)
	return set
}

// hangs is the time limit for events that take seconds on an idle machine.
const hangs = 5 * time.Minute

// await waits until applied objects are active, because the API server notices its own objects by watching them.
func await(t testing.TB, what string, condition func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, hangs, true,
		func(ctx context.Context) (bool, error) { return condition(ctx), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
