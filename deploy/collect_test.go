package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/offline"
)

// collect runs collect.sh with a fake kubectl, for a cluster with or without the kinds that not every cluster has.
// asked is a file with the arguments of all calls of kubectl.
func collect(t *testing.T, environ ...string) (stdout, stderr bytes.Buffer, asked string) {
	t.Helper()
	bin, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	asked = filepath.Join(t.TempDir(), "asked")
	cmd := exec.CommandContext(t.Context(), "./collect.sh")
	cmd.Env = append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "ASKED=" + asked}, environ...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr.String())
	}
	return stdout, stderr, asked
}

// argument returns the argument of kubectl for a kind: its resource and, for groups that not every cluster has and for
// versions that are not the only one, also its group.
func argument(k install.Kind) string {
	group, _, _ := strings.Cut(k.APIVersion, "/")
	if k.Optional {
		return k.Resource + "." + group
	}
	return k.Resource
}

// optional lists the resources that not every cluster has, in the order of the script.
func optional() []string {
	var all []string
	for _, k := range install.Kinds() {
		if k.Optional {
			all = append(all, argument(k))
		}
	}
	return all
}

// collect.sh reports resources that a cluster does not serve and does not read them. If it cannot list the served
// resources, it tries to read all of them.
func TestCollectWhatIsServed(t *testing.T) {
	const nodes = "Error from server (Forbidden): nodes is forbidden\n" +
		"collect.sh: left out: kubectl get --all-namespaces nodes\n"
	_, said, asked := collect(t, "SERVED=pods services")
	for _, resource := range optional() {
		if !strings.Contains(said.String(), "collect.sh: not served: "+resource+"\n") {
			t.Errorf("it does not report %s:\n%s", resource, said.String())
		}
	}
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range optional() {
		if strings.Contains(string(text), resource) {
			t.Errorf("kubectl reads %s", resource)
		}
	}

	_, said, asked = collect(t)
	const broken = "error: unable to retrieve the complete list of server APIs\n"
	if diff := cmp.Diff(broken+nodes, said.String()); diff != "" {
		t.Error(diff)
	}
	checkAsked(t, asked)
}

// TestCollect runs collect.sh and reads its output.
func TestCollect(t *testing.T) {
	stdout, stderr, asked := collect(t, "SERVED="+strings.Join(optional(), " "))
	if diff := cmp.Diff("Error from server (Forbidden): nodes is forbidden\n"+
		"collect.sh: left out: kubectl get --all-namespaces nodes\n", stderr.String()); diff != "" {
		t.Error(diff)
	}

	objects, err := install.Read(offline.Read([]string{offline.Stdin}, &stdout))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range install.Of[*appsv1.Deployment](objects) {
		got = append(got, objects.Ref(d).String())
	}
	for _, s := range install.Of[*corev1.Secret](objects) {
		got = append(got, objects.Ref(s).String())
		if !install.Live(s) {
			t.Errorf("%s does not count as an object of a live cluster", objects.Ref(s))
		}
	}
	want := []string{
		"Deployment other/other", "Secret evergate-system/evergate-tls", "Secret evergate-system/evergate-ca",
	}
	if diff := cmp.Diff(want, got); diff != "" || objects.Count() != 4 {
		t.Errorf("%d objects\n%s", objects.Count(), diff)
	}
	secret := install.Find[*corev1.Secret](objects, "evergate-system", "evergate-tls")
	if diff := cmp.Diff(map[string][]byte{"tls.crt": []byte("LEAF"), "ca.crt": []byte("CA")}, secret.Data); diff != "" {
		t.Error(diff)
	}
	checkAsked(t, asked)
}

// collect.sh prints the hash of the API server's files for preflight. If it may not read the hash, it reports that.
func TestCollectFiles(t *testing.T) {
	const denied = "ValidatingAdmissionPolicy 'evergate-probe.static.k8s.io' with binding " +
		"'evergate-probe.static.k8s.io' denied request: exported from [policy 0123456789ab]"
	stdout, _, _ := collect(t, "SERVED=pods", "FILES="+denied)
	objects, err := install.Read(offline.Read([]string{offline.Stdin}, &stdout))
	if err != nil || objects.FilesPolicy != "0123456789ab" {
		t.Errorf("the hash of the files is %q, %v", objects.FilesPolicy, err)
	}
	stdout, said, _ := collect(t, "SERVED=pods", "FILES=User \"jane\" cannot create resource \"configmaps\"")
	objects, err = install.Read(offline.Read([]string{offline.Stdin}, &stdout))
	if err != nil || objects.FilesPolicy != "" || !strings.Contains(said.String(), "User \"jane\" cannot create") ||
		!strings.Contains(said.String(), "collect.sh: left out: files of the API server\n") {
		t.Errorf("%q, %v, %s", objects.FilesPolicy, err, said.String())
	}
}

// collect.sh reads every ConfigMap that may contain the policy, also if kustomize has added a hash to its name.
func TestCollectPolicies(t *testing.T) {
	for configMaps, want := range map[string]string{
		"evergate-policy evergate-policy-2b4c6d8f9g evergate-policy-5F evergate-policy.r7 kube-root-ca.crt": "" +
			"configmaps/evergate-policy configmaps/evergate-policy-2b4c6d8f9g\n",
		"evergate-policy-2b4c6d8f9g": "configmaps/evergate-policy-2b4c6d8f9g\n",
		"kube-root-ca.crt":           "configmaps/evergate-policy\n",
	} {
		_, _, asked := collect(t, "SERVED=pods", "CONFIGMAPS="+configMaps)
		text, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		if line := "get --ignore-not-found -o json -n evergate-system " + want; !strings.Contains(string(text), line) {
			t.Errorf("%s: kubectl was not called with %s", configMaps, line)
		}
	}
}

// collect.sh prints the resources that it may not read, if preflight would otherwise take their objects for absent.
func TestCollectUnread(t *testing.T) {
	want := []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "configmaps", "deployments"}
	stdout, said, _ := collect(t, "SERVED=pods", "FORBIDDEN=pods "+strings.Join(want, " "))
	objects, err := install.Read(offline.Read([]string{offline.Stdin}, &stdout))
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range want {
		if !objects.Unread(resource) {
			t.Errorf("it does not print %s", resource)
		}
	}
	const line = "collect.sh: left out: kubectl get -n evergate-system deployments\n"
	if !strings.Contains(said.String(), line) {
		t.Errorf("%q is not in %s", line, said.String())
	}
}

// collect.sh does not know whether there is a policy with a hash in its name if it may not list ConfigMaps.
func TestCollectUnlisted(t *testing.T) {
	stdout, _, asked := collect(t, "SERVED=pods", "UNLISTED=1")
	objects, err := install.Read(offline.Read([]string{offline.Stdin}, &stdout))
	if err != nil || !objects.Unread("configmaps") || objects.Unread("deployments") {
		t.Error("only ConfigMaps cannot be listed", err)
	}
	text, err := os.ReadFile(asked)
	if err != nil || !strings.Contains(string(text), "-n evergate-system configmaps/evergate-policy\n") {
		t.Errorf("it does not read the ConfigMap evergate-policy: %v", err)
	}
}

// checkAsked checks that the script only reads, and that it reads only the certificates of Secrets.
func checkAsked(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		secrets := strings.Contains(line, "secret ") || strings.Contains(line, "secrets")
		if strings.HasPrefix(line, "api-resources ") || strings.HasSuffix(line, " --dry-run=server\n") {
			continue
		}
		if !strings.Contains(line, "get ") || strings.Contains(line, ".key") || secrets && strings.Contains(line, "json ") {
			t.Errorf("kubectl %s", line)
		}
	}
	for _, k := range install.Kinds() {
		name := argument(k)
		if k.Resource == "configmaps" || k.Resource == "secrets" {
			name = strings.TrimSuffix(k.Resource, "s")
		}
		if group, version, _ := strings.Cut(k.APIVersion, "/"); k.Optional {
			name = k.Resource + "." + version + "." + group
		}
		if !strings.Contains(string(text), " "+name) {
			t.Errorf("no kubectl get %s", name)
		}
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		read, _, _ := strings.Cut(strings.NewReplacer(".", " ", "/", " ").Replace(words[len(words)-1]), " ")
		if strings.Contains(line, " json ") && !slices.ContainsFunc(install.Kinds(), func(k install.Kind) bool {
			return k.Resource == read
		}) {
			t.Errorf("%s is not in the table of kinds", read)
		}
	}
}

// TestJob checks that the component preflight lists the kinds of the table, except Secrets and kinds that kubectl would
// not find in every cluster. charts/test compares the chart with the component.
func TestJob(t *testing.T) {
	var cluster, namespace, want []string
	for _, k := range install.Kinds() {
		name := k.Resource
		if group, version, _ := strings.Cut(k.APIVersion, "/"); k.Optional {
			name += "." + group
		} else if k.Resource == "horizontalpodautoscalers" {
			name += "." + version + "." + group
		}
		switch {
		case k.From == install.Named || strings.HasPrefix(k.Resource, "mutatingadmission"):
			continue
		case k.From == install.Namespace:
			namespace = append(namespace, name)
		default:
			cluster = append(cluster, name)
		}
		want = append(want, k.Resource)
	}
	read := func(name string) string {
		text, err := os.ReadFile("../kustomize/components/preflight/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`\\\n *`).ReplaceAllString(string(text), "")
	}
	listed := regexp.MustCompile(`- get\n *- "(.*)"`).FindAllStringSubmatch(read("job.yaml"), -1)
	for n, names := range [][]string{cluster, namespace} {
		got := strings.Split(listed[n][1], ",")
		slices.Sort(got)
		slices.Sort(names)
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("kubectl get (-want +got)\n%s", diff)
		}
	}
	var got []string
	for _, rule := range regexp.MustCompile(`(?s)resources:(.*?)verbs:`).FindAllStringSubmatch(read("rbac.yaml"), -1) {
		got = append(got, regexp.MustCompile(`[a-z]+`).FindAllString(rule[1], -1)...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-want +got)\n%s", diff)
	}
}
