package kit

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"

	"github.com/evergate/evergate/e2e/internal/pki"
	"github.com/evergate/evergate/e2e/internal/process"
)

// kubelet performs two tasks of a kubelet for replicas that run as processes on this machine. It forwards ports with
// the kubelet's own code, and it updates a changed ConfigMap when it syncs a Pod, which is when an annotation of the
// Pod changes.
type kubelet struct {
	cluster  *cluster
	mu       sync.Mutex
	replicas map[string]*replica
}

// replica is a Pod and the process that represents its container.
type replica struct {
	process *process.Process
	policy  pki.Mount
	synced  string            // the annotations at the last sync
	beside  map[string][]byte // files next to the files of the ConfigMap
}

const evergateNamespace = "evergate-system"

// startReplicas creates Pods from the manifests, like a Deployment, and runs the binary for each.
func (c *cluster) startReplicas(t testing.TB, binary string, names ...string) *kubelet {
	t.Helper()
	k := &kubelet{cluster: c, replicas: map[string]*replica{}}
	server := httptest.NewTLSServer(k)
	t.Cleanup(server.Close)
	k.register(t, server.Listener.Addr().(*net.TCPAddr).Port)
	for _, name := range names {
		k.start(t, binary, name)
	}
	go k.run(t.Context())
	return k
}

// register sets the address of the kubelet in the API server.
func (k *kubelet) register(t testing.TB, port int) {
	t.Helper()
	nodes := k.cluster.admin.CoreV1().Nodes()
	node, err := nodes.Create(
		t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}},
		metav1.CreateOptions{},
	)
	must(t, err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	if _, err := nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (k *kubelet) start(t testing.TB, binary, name string) {
	t.Helper()
	r := &replica{policy: pki.Mount{Dir: t.TempDir()}}
	if k.show(t.Context(), r) != nil { // there is no ConfigMap yet, and --dev needs a policy
		must(t, r.policy.Write(map[string][]byte{
			"policy.yaml": []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nallowEmpty: true\n"),
		}))
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p, err := process.Start(ctx, binary, "--dev", "--dev-ca", t.TempDir()+"/ca.crt", "--policy", r.policy.Dir)
	must(t, err)
	t.Cleanup(func() { cancel(); <-p.Done() })
	must(t, p.AwaitReady(t.Context()))
	r.process = p
	_, port, _ := net.SplitHostPort(p.Ops)
	number, err := strconv.Atoi(port)
	must(t, err)
	pod := restricted(pod(name, "evergate"))
	pod.Labels = map[string]string{"app.kubernetes.io/name": "evergate", "app.kubernetes.io/component": "webhook"}
	pod.Spec.NodeName = "node"
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "ops", ContainerPort: int32(number)}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "policy", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "evergate-policy"}},
	}}}
	pods := k.cluster.admin.CoreV1().Pods(evergateNamespace)
	created, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
	created.Status.Phase = corev1.PodRunning
	created.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := pods.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	k.replicas[name] = r
	k.mu.Unlock()
}

// run syncs Pods until ctx ends.
func (k *kubelet) run(ctx context.Context) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			k.sync(ctx)
		}
	}
}

// sync updates the policy of each Pod that has changed. If the API server is slow, it tries again.
func (k *kubelet) sync(ctx context.Context) {
	list, err := k.cluster.admin.CoreV1().Pods(evergateNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range list.Items {
		r := k.replicas[pod.Name]
		if state := fmt.Sprint(pod.Annotations); r != nil && r.synced != state && k.show(ctx, r) == nil {
			r.synced = state
		}
	}
}

// show writes the current contents of the ConfigMap.
func (k *kubelet) show(ctx context.Context, r *replica) error {
	cm, err := k.cluster.admin.CoreV1().ConfigMaps(evergateNamespace).Get(ctx, "evergate-policy", metav1.GetOptions{})
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	maps.Copy(files, r.beside)
	for name, data := range cm.Data {
		files[name] = []byte(data)
	}
	return r.policy.Write(files)
}

// ServeHTTP forwards ports: /portForward/NAMESPACE/POD.
func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(path) < 3 || path[0] != "portForward" {
		http.NotFound(w, r)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, path[2], "", options, time.Minute, time.Minute,
		portforward.SupportedProtocols)
}

// PortForward connects a stream to a port of this machine.
func (k *kubelet) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, stream) // ends with the stream
		conn.Close()
	}()
	_, err = io.Copy(stream, conn)
	return err
}
