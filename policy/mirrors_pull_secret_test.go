package policy

import (
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

const secretsText = `
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub, imagePullSecret: hub-login}
- {name: quay, mode: enforce, sources: [quay.io], mirror: m.example/quay, imagePullSecret: quay-login}
- {name: gcr, mode: warn, sources: [gcr.io], mirror: m.example/gcr, imagePullSecret: gcr-login}
- {name: open, mode: enforce, sources: [ghcr.io], mirror: m.example/open}
`

func TestPullSecrets(t *testing.T) {
	updatePod := createPod
	updatePod.Operation = object.Update
	debug := updatePod
	debug.Subresource = "ephemeralcontainers"
	for name, test := range map[string]struct {
		a      object.Attributes
		there  []string
		images string
		want   PullSecrets
	}{
		"rewritten":                     {createPod, nil, "nginx", PullSecrets{Added: []string{"hub-login"}}},
		"two entries, in their order":   {createPod, []string{"b"}, "quay.io/a nginx quay.io/b", PullSecrets{Added: []string{"quay-login", "hub-login"}}},
		"is there":                      {createPod, []string{"b", "hub-login"}, "nginx", PullSecrets{}},
		"one of two is there":           {createPod, []string{"hub-login"}, "nginx quay.io/a", PullSecrets{Added: []string{"quay-login"}}},
		"mode warn":                     {createPod, nil, "gcr.io/a", PullSecrets{}},
		"an entry without":              {createPod, nil, "ghcr.io/a", PullSecrets{}},
		"already at the mirror":         {createPod, nil, "m.example/hub/library/nginx", PullSecrets{}},
		"no mirror":                     {createPod, nil, "other.example/a", PullSecrets{}},
		"update":                        {updatePod, nil, "nginx", PullSecrets{Missing: []string{"hub-login"}}},
		"update of a Pod that has it":   {updatePod, []string{"hub-login"}, "nginx", PullSecrets{}},
		"debug container":               {debug, nil, "nginx", PullSecrets{Missing: []string{"hub-login"}}},
		"second review of the same Pod": {createPod, []string{"hub-login"}, "m.example/hub/library/nginx quay.io/a", PullSecrets{Added: []string{"quay-login"}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod, old := &object.Pod{ImagePullSecrets: test.there}, (*object.Pod)(nil)
			for i, ref := range strings.Fields(test.images) {
				place := object.Containers
				if test.a.Subresource != "" {
					place = object.EphemeralContainers
				}
				pod.Images = append(pod.Images, object.Image{Place: place, Index: i, Name: "c" + ref, Ref: ref, PullPolicy: ""})
			}
			if test.a.Operation == object.Update {
				old = &object.Pod{ImagePullSecrets: test.there}
			}
			rw := must(mustLoad(t, secretsText).RewritePod(test.a, pod, old, nil))
			equal(t, test.want, rw.PullSecrets)
		})
	}
}

func TestWhyNamesThePullSecret(t *testing.T) {
	pod := &object.Pod{Images: []object.Image{{Place: object.Containers, Index: 0, Name: "a", Ref: "nginx", PullPolicy: ""}, {Place: object.Containers, Index: 1, Name: "b", Ref: "gcr.io/a", PullPolicy: ""}}}
	rw := must(mustLoad(t, secretsText).RewritePod(createPod, pod, nil, nil))
	for i, want := range []string{
		"pulled from m.example/hub/library/nginx with pull secret hub-login by mirrors entry hub",
		"would be pulled from m.example/gcr/a with pull secret gcr-login if mirrors entry gcr were in mode enforce; " +
			"it is in mode warn",
	} {
		if got := rw.Images[i].Why(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPullSecretNames(t *testing.T) {
	for name, want := range map[string]string{
		`Login`:                   `"Login" cannot be the name of a Secret: it has an upper-case letter`,
		`a_b`:                     `"a_b" cannot be the name of a Secret: the label "a_b" has a character other than letters`,
		`""`:                      `"" cannot be the name of a Secret: it has an empty label`,
		strings.Repeat("a.", 127): `cannot be the name of a Secret: it has 254 characters`,
	} {
		_, err := Load(File{Name: "p.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy" + `
mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example, imagePullSecret: ` + name + `}]`)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %s", name, err, want)
		}
	}
}

func TestPullSecretsOfANamespace(t *testing.T) {
	p := mustLoad(t, `
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub, imagePullSecret: hub-login, exclude: {namespaces: [own-*]}}
- {name: quay, mode: enforce, sources: [quay.io], mirror: m.example/quay, imagePullSecret: a-login, match: {namespaces: [team-*]}}
- {name: ghcr, mode: enforce, sources: [ghcr.io], mirror: m.example/ghcr, imagePullSecret: hub-login}
- {name: gcr, mode: warn, sources: [gcr.io], mirror: m.example/gcr, imagePullSecret: gcr-login}
- name: ended # one day
  mode: enforce
  sources: [ended.example]
  mirror: m.example/ended
  imagePullSecret: z-login
  match: {namespaces: [own-a]}
  exclude: {namespaces: [own-*], until: 2027-01-31}
`)
	for namespace, want := range map[string][]string{
		"team-a": {"a-login", "hub-login"}, "own-a": {"hub-login", "z-login"}, "other": {"hub-login"},
	} {
		equal(t, want, p.PullSecrets(namespace), namespace)
	}
}
