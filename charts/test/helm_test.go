package chart_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	loader3 "helm.sh/helm/v3/pkg/chart/loader"
	chartutil3 "helm.sh/helm/v3/pkg/chartutil"
	engine3 "helm.sh/helm/v3/pkg/engine"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"
)

// TestUmbrella installs the chart as a dependency of another chart, whose condition is on or off.
func TestUmbrella(t *testing.T) {
	values := map[string]any{"components": map[string]any{"prometheus": true}}
	alone, err := template(t, "evergate-system", values)
	if err != nil {
		t.Fatal(err)
	}
	for enabled, want := range map[bool]objects{true: alone, false: {}} {
		c := load(t)
		umbrella := &chartv2.Chart{Metadata: &chartv2.Metadata{
			APIVersion: chartv2.APIVersionV2, Name: "umbrella", Version: "1.0.0",
			Dependencies: []*chartv2.Dependency{
				{Name: c.Name(), Version: c.Metadata.Version, Condition: "evergate.enabled"},
			},
		}}
		umbrella.SetDependencies(c)
		got, err := render(t, umbrella, "evergate-system", map[string]any{
			"global":   map[string]any{"team": "platform"},
			"evergate": map[string]any{"enabled": enabled, "components": values["components"]},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("enabled %t (-alone +umbrella):\n%s", enabled, diff)
		}
	}
}

// TestHelm3 renders the chart with the code of Helm 3, alone and with all components.
func TestHelm3(t *testing.T) {
	for _, values := range []map[string]any{{}, valuesOf(t, everything(setting{})...)} {
		c, err := loader3.Load(chart)
		if err != nil {
			t.Fatal(err)
		}
		release := chartutil3.ReleaseOptions{Name: "evergate", Namespace: "evergate-system", IsInstall: true, Revision: 1}
		all, err := chartutil3.ToRenderValues(c, values, release, chartutil3.DefaultCapabilities)
		if err != nil {
			t.Fatal(err)
		}
		files, err := engine3.Render(c, all)
		if err != nil {
			t.Fatal(err)
		}
		want, err := template(t, "evergate-system", values)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, decode(t, files)); diff != "" {
			t.Errorf("%v (-Helm 4 +Helm 3):\n%s", values, diff)
		}
	}
}

// TestConnection checks that helm test connects to the Service in the namespace of the release, and that its Pod has
// the CA that signs the serving certificate.
func TestConnection(t *testing.T) {
	for values, volume := range map[string]string{
		"components: {}": "secret:map[items:[map[key:ca.crt path:ca.crt]] secretName:evergate-tls]",
		serviceCA:        "configMap:map[items:[map[key:service-ca.crt path:ca.crt]] name:openshift-service-ca.crt]",
	} {
		rendered, err := template(t, "platform-admission", valuesOf(t, setting{values: values}))
		if err != nil {
			t.Fatal(err)
		}
		pod := fmt.Sprint(rendered["Pod/evergate-test"])
		const args = "args:[preflight --connect=evergate.platform-admission.svc:443 --ca-file=/etc/evergate/ca/ca.crt]"
		if !strings.Contains(pod, args) || !strings.Contains(pod, volume) {
			t.Errorf("%s: the Pod does not have %s and %s:\n%s", values, args, volume, pod)
		}
	}
}

// TestGitOps renders the chart with the values in the examples for Argo CD and Flux.
func TestGitOps(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/runbooks/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## The chart\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var example struct { // all objects together
		Source struct {
			RepoURL, Chart, TargetRevision string
			Helm                           struct{ ValuesObject map[string]any }
		}
		Spec struct {
			URL    string
			Ref    struct{ Tag string }
			Values map[string]any
		}
	}
	for _, match := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		for document := range strings.SplitSeq(match[1], "\n---\n") {
			if err := yaml.Unmarshal([]byte(document), &example); err != nil {
				t.Fatal(err)
			}
		}
	}
	argo, flux := example.Source, example.Spec
	for _, values := range []map[string]any{argo.Helm.ValuesObject, flux.Values} {
		if _, err := template(t, "evergate-system", values); err != nil || values["failureMode"] != "fail-closed" {
			t.Errorf("%v: %v", values, err)
		}
	}
	got, want := "oci://"+argo.RepoURL+"/"+argo.Chart+":"+argo.TargetRevision, flux.URL+":"+load(t).Metadata.Version
	if got != want || flux.Ref.Tag != argo.TargetRevision {
		t.Errorf("the examples have the charts %s and %s:%s", got, flux.URL, flux.Ref.Tag)
	}
}
