package incidents

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/registry"
	"github.com/evergate/evergate/e2e/internal/tool"
)

// I19: images were rewritten to a mirror that requires a login, which no Pod had: ErrImagePull in every namespace.

func TestI19(t *testing.T) {
	in := incident{
		id: "I19", what: "a Pod is created with an image that is rewritten to a registry that requires a login",
		guard: "imagePullSecret of the mirrors entry", controls: true,
	}
	in.happen = func(t *testing.T, l *lab, _ bool) outcome { return pullPrivate(t, l, in) }
	try(t, in)
}

const (
	mirror = "mirror.corp.example"
	login  = "mirror-login" // the Secret

	// privateMirrors contains additional mirrors entries: one with the Secret, and, for the control run, one without
	// it.
	privateMirrors = `- {name: private, mode: enforce, sources: [docker.io/private], mirror: ` + mirror + `/private,
   imagePullSecret: ` + login + `}
- {name: no-login, mode: enforce, sources: [docker.io/no-login], mirror: ` + mirror + `/no-login}
`
)

// The messages of containerd about a registry that requires a login: without a login, and with a wrong login.
const (
	noCredentials    = "authorization failed: no basic auth credentials"
	wrongCredentials = "401 Unauthorized"
)

// pullPrivate makes a node pull one image for four Pods: while the Secret that they reference is absent, while it has a
// wrong password, when it is right, and for a Pod without a reference. The first Pod runs in the end.
func pullPrivate(t *testing.T, l *lab, in incident) outcome {
	m := l.startMirror(t)
	l.enforcePolicy(t, strings.Replace(policy, "mirrors:\n", "mirrors:\n"+privateMirrors, 1))

	begun := time.Now()
	early := m.create(t, "no-secret", m.private)
	missing := m.pullFails(t, early, noCredentials)
	missing.figure("kubelet reports about the Secret", "%s", m.event(t, early, "FailedToRetrieveImagePullSecret", login))
	in.control(t, "the Secret is not in the namespace", missing, time.Since(begun))

	begun = time.Now()
	m.createSecret(t, "old")
	in.control(t, "the Secret has an old password", m.pullFails(t, m.create(t, "old-secret", m.private), wrongCredentials),
		time.Since(begun))

	m.createSecret(t, m.Password)
	created := time.Now()
	var o outcome
	o.add(m.pulled(t, m.create(t, "secret", m.private)))

	begun = time.Now()
	in.control(t, "a mirrors entry without imagePullSecret", m.pullFails(t, m.create(t, "no-login", m.noLogin),
		noCredentials), time.Since(begun))

	l.restorePolicy(t) // meanwhile, the kubelet retries the first Pod's image
	ran := m.ran(t, early).Status.ContainerStatuses[0].State.Terminated
	o.figure("a Pod that was created before its Secret runs", "%s after it", ran.StartedAt.Sub(created).Round(time.Second))
	return o
}

// privateMirror is a registry that the nodes reach under the name of the mirror. It contains an image that no node has.
type privateMirror struct {
	*registry.Registry
	l                *lab
	node             string // the node that pulls
	ip               string // of the node
	token            string // the output of a container of the image
	digest           string // of the image
	private, noLogin string // names of the image before it is rewritten
}

// startMirror runs the registry with the image until the test ends. The Pods are then deleted.
func (l *lab) startMirror(t *testing.T) *privateMirror {
	t.Helper()
	l.NeedRig(t, "has nodes pull from this machine")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r, err := registry.Start(ctx, tool.Need(t, "registry"), t.TempDir(), l.Address(t))
	t.Cleanup(func() {
		cancel()
		if r != nil {
			r.Wait()
		}
	})
	must(t, err)
	node := l.Nodes(t)[0]
	m := &privateMirror{Registry: r, l: l, node: node.Name, ip: node.IP, token: rand.Text()}
	tag := strings.ToLower(rand.Text()[:8]) // new, so it is not on the node from an earlier run
	m.private, m.noLogin = "docker.io/private/probe:"+tag, "docker.io/no-login/probe:"+tag
	path, err := exec.LookPath("busybox") // a static binary, with which the rig's images are built
	must(t, err)
	busybox, err := os.ReadFile(path)
	must(t, err)
	for _, repository := range []string{"private/probe", "no-login/probe"} {
		m.digest, err = r.Push(t.Context(), repository, tag, []string{"/busybox", "cat", "/token"},
			registry.File{Name: "busybox", Data: busybox}, registry.File{Name: "token", Data: []byte(m.token)})
		must(t, err)
	}
	l.AddRegistry(t, mirror, r.Host, r.CA)
	l.undo(t, "-n", team, "delete", "secret", login, "--ignore-not-found")
	l.undo(t, "-n", team, "delete", "pods", "-l", "evergate.e2e/of=mirror", "--force", "--grace-period=0")
	return m
}

// create creates a Pod on the node, which prints the token once its image is pulled.
func (m *privateMirror) create(t *testing.T, name, image string) *corev1.Pod {
	t.Helper()
	p := pod("pull-"+name, image)
	p.Labels = map[string]string{"evergate.e2e/of": "mirror"}
	p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: m.node}
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	created, err := m.l.api.CoreV1().Pods(team).Create(t.Context(), p, metav1.CreateOptions{})
	must(t, err)
	want := strings.Replace(image, "docker.io", mirror, 1)
	if got := created.Spec.Containers[0].Image; got != want {
		t.Fatalf("the image is %s, want %s", got, want)
	}
	var secrets []corev1.LocalObjectReference
	if image == m.private {
		secrets = []corev1.LocalObjectReference{{Name: login}}
	}
	if diff := cmp.Diff(secrets, created.Spec.ImagePullSecrets); diff != "" {
		t.Fatalf("imagePullSecrets (-want +got):\n%s", diff)
	}
	return created
}

// createSecret creates the Secret with a password, with the command in docs/runbooks/pull-secrets.md.
func (m *privateMirror) createSecret(t *testing.T, password string) {
	t.Helper()
	m.l.Kubectl(t, "", "-n", team, "delete", "secret", login, "--ignore-not-found")
	m.l.Kubectl(t, "", "-n", team, "create", "secret", "docker-registry", login, "--docker-server="+mirror,
		"--docker-username="+m.User, "--docker-password="+password)
}

// pullFails waits until the kubelet has reported why the image of a Pod cannot be pulled. Until then, the node must not
// have logged in to that repository.
func (m *privateMirror) pullFails(t *testing.T, p *corev1.Pod, why string) outcome {
	t.Helper()
	var o outcome
	o.breaks("kubelet reports: %s", m.event(t, p, "Failed", why))
	o.figure("of the container", "%s", m.event(t, p, "Failed", "Error: "))
	o.figure("the registry's log", "%s", m.asked(t, p, func(r registry.Request) bool {
		return r.User == "" && r.Status == http.StatusUnauthorized
	}))
	for _, r := range m.Requests() {
		if r.User != "" && m.isFor(p, r) {
			t.Errorf("the node has logged in: %s", r)
		}
	}
	return o
}

// pulled waits until a Pod has run, and compares all reports about the source of its image with the pushed image.
func (m *privateMirror) pulled(t *testing.T, p *corev1.Pod) outcome {
	t.Helper()
	begun := time.Now()
	p = m.ran(t, p)
	took := time.Since(begun)
	var o outcome
	o.figure("the Pod was created with", "%s", p.Annotations["evergate.dev/original-images"])
	o.figure("it references", "imagePullSecrets %v", p.Spec.ImagePullSecrets)
	o.figure("kubelet reports", "%s", m.event(t, p, "Pulled", "Successfully pulled image"))
	o.figure("the registry's log", "%s", m.asked(t, p, func(r registry.Request) bool {
		return r.User == m.User && r.Method == http.MethodGet && strings.Contains(r.Path, "/blobs/")
	}))
	o.figure("from its creation until it had run", "%s", took.Round(100*time.Millisecond))
	id := p.Status.ContainerStatuses[0].ImageID
	if !strings.HasSuffix(id, "@"+m.digest) {
		o.breaks("it runs %s, the image that was pushed is %s", id, m.digest)
	}
	printed, err := m.l.api.CoreV1().Pods(team).GetLogs(p.Name, new(corev1.PodLogOptions)).DoRaw(t.Context())
	must(t, err)
	if !bytes.Equal(printed, []byte(m.token)) {
		o.breaks("it prints %q, the image that was pushed prints %q", printed, m.token)
	}
	return o
}

// ran waits until the container of a Pod has ended successfully.
func (m *privateMirror) ran(t *testing.T, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	var is *corev1.Pod
	m.l.await(t, "Pod "+p.Name+" to run", 2*time.Minute, func(ctx context.Context) (err error) {
		if is, err = m.l.api.CoreV1().Pods(team).Get(ctx, p.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if is.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s: %+v", is.Status.Phase, is.Status.ContainerStatuses)
		}
		return nil
	})
	return is
}

// event waits for an event of a Pod and returns its message.
func (m *privateMirror) event(t *testing.T, p *corev1.Pod, reason, part string) string {
	t.Helper()
	var said string
	m.l.await(t, "an event of Pod "+p.Name, 2*time.Minute, func(ctx context.Context) error {
		list, err := m.l.api.CoreV1().Events(team).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.uid=" + string(p.UID) + ",reason=" + reason})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if strings.Contains(e.Message, part) {
				said = e.Message
				return nil
			}
		}
		return errors.New("there is none of " + part)
	})
	return said
}

// asked waits until the registry has answered a request of the node for the image of a Pod.
func (m *privateMirror) asked(t *testing.T, p *corev1.Pod, match func(registry.Request) bool) registry.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := m.Await(ctx, func(r registry.Request) bool { return m.isFor(p, r) && match(r) })
	must(t, err)
	return r
}

// isFor reports whether the node has requested something from the repository of a Pod's image.
func (m *privateMirror) isFor(p *corev1.Pod, r registry.Request) bool {
	repository, _, _ := strings.Cut(strings.TrimPrefix(p.Spec.Containers[0].Image, mirror), ":")
	return r.From == m.ip && strings.HasPrefix(r.Path, "/v2"+repository+"/")
}
