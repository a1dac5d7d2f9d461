package cluster

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestNodesAreInThreeZones(t *testing.T) {
	c := Open(t)
	c.NeedRig(t, "knows the nodes by name")
	var got []string
	for _, n := range c.Nodes(t) {
		got = append(got, n.Name+" in "+n.Zone)
	}
	const want = "node-a in zone-a, node-b in zone-b, node-c in zone-c"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("nodes: %s; want %s", s, want)
	}
}

// ifNightly skips a slow test of the cluster itself in a short run.
func ifNightly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short skips slow tests of the cluster itself")
	}
}

// TestTroubleEndsWithTheTest checks the effect of each failure from the API server's side, by connecting to the
// kubelet, and that each failure ends with its test.
func TestTroubleEndsWithTheTest(t *testing.T) {
	ifNightly(t)
	c := Open(t)
	c.NeedRig(t, "makes trouble for a node")
	for name, trouble := range map[string]struct {
		make          func(testing.TB, string)
		dials, shakes bool // a TCP connection opens, the TLS handshake on it succeeds
	}{
		"cut":    {make: c.Cut},
		"frozen": {make: c.Freeze, dials: true},
		"off":    {make: c.Off},
	} {
		node := c.Nodes(t)[0]
		t.Run(name, func(t *testing.T) {
			trouble.make(t, node.Name)
			if dials, shakes := ask(t, node); dials != trouble.dials || shakes != trouble.shakes {
				t.Errorf("kubelet: connection %v, handshake %v; want %v, %v", dials, shakes, trouble.dials, trouble.shakes)
			}
		})
		if dials, shakes := ask(t, node); !dials || !shakes {
			t.Errorf("after %s: kubelet: connection %v, handshake %v; want both", name, dials, shakes)
		}
	}
}

// ask tries to connect to the kubelet of a node, for as long as a busy machine may need to respond.
func ask(t *testing.T, node Node) (dials, shakes bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(node.IP, "10250"))
	if err != nil {
		return false, false
	}
	defer conn.Close()
	// Only the presence of a response matters. The certificate is the cluster's own.
	return true, tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) == nil
}

func TestUserIsKnownByName(t *testing.T) {
	c := Open(t)
	set, err := kubernetes.NewForConfig(c.User(t, "alice", "team-a"))
	if err != nil {
		t.Fatal(err)
	}
	review, err := set.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if user := review.Status.UserInfo; user.Username != "alice" || user.Groups[0] != "team-a" {
		t.Errorf("authenticated as %s in groups %v; want alice in team-a", user.Username, user.Groups)
	}
}

func TestImageHasOneMoreName(t *testing.T) {
	c := Open(t)
	c.NeedRig(t, "looks at the images of nodes")
	const name = "mirror.example/one/more:1"
	c.TagImage(t, Pause, name)
	for _, node := range c.Nodes(t) {
		if images := c.Exec(t, node.Name, "ctr", "--namespace", "k8s.io", "images", "list",
			"--quiet"); !strings.Contains(images, name) {
			t.Errorf("%s has no %s", node.Name, name)
		}
	}
}

func TestAPIServerTakesFlags(t *testing.T) {
	ifNightly(t)
	c := Open(t)
	c.RestartAPIServer(t, "--max-requests-inflight=399")
	if args := commandLine(t); !strings.Contains(args, "--max-requests-inflight=399") {
		t.Errorf("the API server runs with %s", args)
	}
	if got := len(c.Nodes(t)); got != 3 {
		t.Errorf("it has %d nodes; want 3", got)
	}
}

// commandLine returns the arguments of the running API server.
func commandLine(t *testing.T) string {
	t.Helper()
	pid, _, _ := strings.Cut(read(t, filepath.Join(State(), "run", "kube-apiserver")), " ")
	return strings.ReplaceAll(read(t, filepath.Join("/proc", pid, "cmdline")), "\x00", " ")
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
