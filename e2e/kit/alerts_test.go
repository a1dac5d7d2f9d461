package kit

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/e2e/internal/tool"
)

const prometheus = root + "/kustomize/components/prometheus"

// TestAlerts checks the alerts in the manifests with promtool, and runs their tests.
func TestAlerts(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules.yaml"), marshal(t, alerts(t).Spec))
	writeFile(t, filepath.Join(dir, "alerts.test.yaml"), readFile(t, prometheus+"/alerts.test.yaml"))
	promtool(t, dir, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
	promtool(t, dir, "test", "rules", "alerts.test.yaml")
}

// TestAlertsAreTested checks that promtool's tests contain a case in which each alert fires, a case in which it does
// not fire, and a case in which it fires for one of two clusters.
func TestAlertsAreTested(t *testing.T) {
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []struct {
					ExpLabels map[string]string `json:"exp_labels"`
				} `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	must(t, yaml.Unmarshal(readFile(t, prometheus+"/alerts.test.yaml"), &file))
	fires, silent, ofCluster := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, c := range test.AlertRuleTest {
			fires[c.Alertname] = fires[c.Alertname] || len(c.ExpAlerts) > 0
			silent[c.Alertname] = silent[c.Alertname] || len(c.ExpAlerts) == 0
			for _, alert := range c.ExpAlerts {
				ofCluster[c.Alertname] = ofCluster[c.Alertname] || alert.ExpLabels["cluster"] == "broken"
			}
		}
	}
	for _, alert := range alertRules(t) {
		if !fires[alert.Alert] {
			t.Errorf("%s fires in no test", alert.Alert)
		}
		if !silent[alert.Alert] {
			t.Errorf("%s is silent in no test", alert.Alert)
		}
		if !ofCluster[alert.Alert] {
			t.Errorf("%s fires in no test for one of two clusters", alert.Alert)
		}
	}
}

// TestRunbooks checks that each alert links to a section of the runbook, and that each section is about an alert.
func TestRunbooks(t *testing.T) {
	const page = "docs/runbooks/alerts.md"
	var sections []string
	for _, match := range regexp.MustCompile(`(?m)^## (Evergate\w+)$`).FindAllSubmatch(readFile(t, path.Join(root, page)),
		-1) {
		sections = append(sections, string(match[1]))
	}
	for _, alert := range alertRules(t) {
		want := page + "#" + strings.ToLower(alert.Alert)
		if url := alert.Annotations["runbook_url"]; !strings.HasSuffix(url, "/"+want) {
			t.Errorf("runbook_url of %s is %q, want …/%s", alert.Alert, url, want)
		}
		i := slices.Index(sections, alert.Alert)
		if i < 0 {
			t.Errorf("%s does not have a section ## %s", page, alert.Alert)
			continue
		}
		sections = slices.Delete(sections, i, i+1)
	}
	if len(sections) > 0 {
		t.Errorf("%s has sections that are not about an alert: %s", page, sections)
	}
}

// TestMetricsExist checks that alerts and dashboard use only Evergate metrics in docs/metrics.md.
func TestMetricsExist(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `(evergate_\\w+)` \\| (\\w+) \\|")
	told := map[string]bool{}
	for _, match := range row.FindAllStringSubmatch(string(readFile(t, root+"/docs/metrics.md")), -1) {
		if match[2] != "histogram" {
			told[match[1]] = true
			continue
		}
		for _, part := range []string{"_bucket", "_count", "_sum"} {
			told[match[1]+part] = true
		}
	}
	if len(told) < 20 {
		t.Fatalf("only %d metrics in docs/metrics.md", len(told))
	}
	expressions := dashboardExpressions(t)
	maps.Copy(expressions, ruleExpressions(t))
	asked := 0
	for where, expr := range expressions {
		for _, name := range regexp.MustCompile(`\bevergate_\w+`).FindAllString(expr, -1) {
			asked++
			if !told[name] {
				t.Errorf("%s: there is no %s", where, name)
			}
		}
	}
	if asked < 20 {
		t.Errorf("alerts and dashboard use Evergate metrics only %d times", asked)
	}
}

// TestRecordedRulesExist: each recorded series that a rule uses is recorded, and each recorded series is used. promtool
// does not report a misspelled name, because it cannot tell it from a metric without samples.
func TestRecordedRulesExist(t *testing.T) {
	recorded, used := map[string]bool{}, map[string]bool{}
	name := regexp.MustCompile(`\bevergate:\w+:\w+`)
	for rule, expr := range ruleExpressions(t) {
		if name.MatchString(rule) {
			recorded[rule] = true
		}
		for _, series := range name.FindAllString(expr, -1) {
			used[series] = true
		}
	}
	if len(recorded) == 0 || !maps.Equal(recorded, used) {
		t.Errorf("recorded %v, used %v", slices.Sorted(maps.Keys(recorded)), slices.Sorted(maps.Keys(used)))
	}
}

// TestNothingPagesForOneFailure: a page about failed or slow calls needs a burn rate. A counter that has increased at all
// is at most a warning, because a single lost node increases it.
func TestNothingPagesForOneFailure(t *testing.T) {
	for _, alert := range alertRules(t) {
		expr := alert.Expr.StrVal
		if alert.Labels["severity"] == "critical" && regexp.MustCompile(`\b(rate|increase)\(`).MatchString(expr) {
			t.Errorf("%s is critical and counts events itself: %s", alert.Alert, expr)
		}
	}
}

// TestDashboard checks that the dashboard is valid JSON, and that Prometheus can parse each of its queries.
func TestDashboard(t *testing.T) {
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	grafana := strings.NewReplacer("$__rate_interval", "1m", "$cluster", ".*", "$namespace", "evergate-system")
	var rules []rule
	for _, expr := range dashboardExpressions(t) {
		rules = append(rules, rule{fmt.Sprintf("question:%d", len(rules)), grafana.Replace(expr)})
	}
	dir := t.TempDir()
	groups := map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}}
	writeFile(t, filepath.Join(dir, "rules.yaml"), marshal(t, groups))
	promtool(t, dir, "check", "rules", "rules.yaml")
}

// TestClusters checks in the text of alerts and dashboard that the label cluster separates clusters. The tests of
// promtool check the effect of alerts.
func TestClusters(t *testing.T) {
	dashboard := dashboardExpressions(t)
	expressions := ruleExpressions(t)
	maps.Copy(expressions, dashboard)
	metric := regexp.MustCompile(`\b(evergate|apiserver)_\w+`)
	group := regexp.MustCompile(`\b(by|on) \(([^)]*)\)`)
	aggregation := regexp.MustCompile(`\b(sum|min|max|avg|count|group|topk) *(by)? *\(`)
	for where, expr := range expressions {
		for _, m := range group.FindAllStringSubmatch(expr, -1) {
			if !strings.HasPrefix(m[2], "cluster") && m[2] != "" { // on () is for absent metrics
				t.Errorf("%s: %s loses the cluster", where, m[0])
			}
		}
		for _, m := range aggregation.FindAllStringSubmatch(expr, -1) {
			if m[2] == "" {
				t.Errorf("%s: %s…) loses the cluster", where, m[0])
			}
		}
	}
	for where, expr := range dashboard {
		if n := strings.Count(expr, `{cluster=~"$cluster", `); n == 0 || n != len(metric.FindAllString(expr, -1)) {
			t.Errorf("%s: not every series is from the selected cluster: %s", where, expr)
		}
	}
}

// dashboardExpressions returns the queries of the dashboard, by panel.
func dashboardExpressions(t *testing.T) map[string]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	must(t, json.Unmarshal(readFile(t, prometheus+"/dashboard.json"), &dashboard))
	expressions := map[string]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions["panel "+panel.Title+" "+target.RefID] = target.Expr
		}
	}
	if len(expressions) < 10 {
		t.Fatalf("the dashboard has only %d queries", len(expressions))
	}
	return expressions
}

func alerts(t *testing.T) *monitoringv1.PrometheusRule {
	t.Helper()
	var rule monitoringv1.PrometheusRule
	must(t, yaml.UnmarshalStrict(readFile(t, prometheus+"/alerts.yaml"), &rule))
	return &rule
}

// alertRules returns the rules that are alerts, without the recording rules.
func alertRules(t *testing.T) []monitoringv1.Rule {
	t.Helper()
	var rules []monitoringv1.Rule
	for _, group := range alerts(t).Spec.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				rules = append(rules, rule)
			}
		}
	}
	if len(rules) < 8 {
		t.Fatalf("only %d alerts", len(rules))
	}
	return rules
}

// ruleExpressions returns the expression of each alert and of each recording rule, by its name.
func ruleExpressions(t *testing.T) map[string]string {
	t.Helper()
	expressions := map[string]string{}
	for _, group := range alerts(t).Spec.Groups {
		for _, rule := range group.Rules {
			expressions[rule.Alert+rule.Record] = rule.Expr.StrVal
		}
	}
	return expressions
}

func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool.Need(t, "promtool"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := yaml.Marshal(v)
	must(t, err)
	return data
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	must(t, err)
	return data
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(name, data, 0o600))
}
