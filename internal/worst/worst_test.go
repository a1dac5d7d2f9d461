package worst

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// Of the kinds that each webhook judges, one or more are tried.
func TestEveryKindIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, k := range kinds() {
		tried[k.name] = true
	}
	for _, w := range admission.Webhooks() {
		if !w.Guards && !slices.ContainsFunc(w.Kinds, func(k review.Kind) bool { return tried[k.Name] }) {
			t.Errorf("reviews of %s are not tried", w.Kinds[0].Name)
		}
	}
}

// Every field that the decoder is said to read is tried.
func TestEveryFieldIsTried(t *testing.T) {
	tried := map[string]bool{
		"defaultBackend": true, // read over: that it is there decides
		"oldObject":      true, // read as object is
	}
	for _, k := range kinds() {
		for _, f := range k.fields() {
			for name := range strings.SplitSeq(f.Path, ".") {
				tried[strings.TrimRight(name, "[]")] = true
			}
		}
	}
	read := map[string]bool{}
	for file, tree := range sources(t, "../../review") {
		if filepath.Base(file) == "configmap.go" {
			continue // a policy, which has limits of its own
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			for _, name := range namesRead(n) {
				read[name] = true
			}
			return true
		})
	}
	if len(read) < 30 {
		t.Fatalf("the decoder reads %d fields: too few to be all", len(read))
	}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !tried[name] {
			t.Errorf("the decoder reads %s, which no row has: has kinds the Kubernetes type that it is a field of?", name)
		}
	}
}

// namesRead returns the names of fields that a switch or a comparison of string(name) has.
func namesRead(n ast.Node) (names []string) {
	ofName := func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		f, ok := call.Fun.(*ast.Ident)
		return ok && f.Name == "string"
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if ofName(n.X) {
			names = append(names, literal(n.Y))
		}
	case *ast.SwitchStmt:
		if !ofName(n.Tag) {
			return nil
		}
		for _, c := range n.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				names = append(names, literal(e))
			}
		}
	}
	return names
}

// Every key of an annotation that the code knows is tried.
func TestKeys(t *testing.T) {
	var tried []string
	for _, k := range kinds() {
		tried = append(tried, keys(k.name)...)
	}
	labels := []string{"kubernetes.io/metadata.name", "acme.cert-manager.io/http01-solver"}
	key := regexp.MustCompile(`^[a-z0-9.-]+\.[a-z]+/[a-z0-9.-]*[a-z]$`)
	found := 0
	for _, tree := range sources(t, "../../policy") {
		ast.Inspect(tree, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && key.MatchString(literal(e)) {
				if found++; !slices.Contains(tried, literal(e)) && !slices.Contains(labels, literal(e)) {
					t.Errorf("no row has the annotation %s", literal(e))
				}
			}
			return true
		})
	}
	if found == 0 {
		t.Error("found no annotation at all")
	}
}

// sources parses the Go files of a package but for its tests.
func sources(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", dir, err)
	}
	all := map[string]*ast.File{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if all[file], err = parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// literal returns a string that is written out; empty for all else.
func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		s, _ := strconv.Unquote(l.Value)
		return s
	}
	return ""
}

func load(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load(policy.File{Name: "worst.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPolicies(t *testing.T) {
	for n, text := range map[int]string{1: One(), 10: Ten()} {
		want := policy.Counts{
			Mirrors: n, Pods: n, Ingresses: n, Services: n, Routes: n, Gateways: n, Grants: n, Certificates: n, DNSEndpoints: n,
			Owners: n,
		}
		if got := load(t, text).Counts(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// A row is a review, about as long as it is to be, and has a name of its own.
func TestRows(t *testing.T) {
	const size = 4 << 10
	names := map[string]bool{}
	for r := range Rows(1) {
		body := r.Body(size)
		if !json.Valid(body) {
			t.Errorf("%s: not JSON: %.200s", r.Name, body)
		}
		if len(body) < size/2 || len(body) > 3*size {
			t.Errorf("%s: %d bytes, want about %d", r.Name, len(body), size)
		}
		if names[r.Name] {
			t.Errorf("%s: twice", r.Name)
		}
		names[r.Name] = true
	}
	if len(names) < 1000 {
		t.Errorf("%d rows", len(names))
	}
}

// Judging takes no more steps than it may, whatever the object.
func TestSteps(t *testing.T) {
	p := load(t, Ten())
	const sampled = 11 // with the race detector on, all take half a minute
	most := 0
	for r := range Rows(sampled) {
		size := 256 << 10 // the elements that are judged, and more
		if !r.Many {
			size = 64 << 10
		}
		body := r.Body(size)
		steps := stepsOf(p, r.Path, body)
		most = max(most, steps)
		// The last value that is looked at may be all of the body, and three times as long where that is not UTF-8. A byte
		// may count twice for a regular expression, which is not executed then.
		if steps > maxSteps+2*3*len(body) {
			t.Errorf("%s: %d steps", r.Name, steps)
		}
	}
	if most < maxSteps/10 {
		t.Errorf("at most %d steps: too few to be the worst", most)
	}
}

// stepsOf judges a review and returns how many steps that took.
func stepsOf(p *policy.Policy, path string, body []byte) int {
	e := new(policy.Effort)
	switch path {
	case "/mutate/pods":
		if r, err := review.Pods().Decode(body); err == nil {
			_, _ = p.RewritePod(r.Attributes, r.Object, r.Old, e)
		}
	case "/validate/pods":
		if r, err := review.Pods().Decode(body); err == nil {
			_, _ = p.JudgePod(r.Attributes, r.Object, r.Old, e)
		}
	case "/validate/ingresses":
		if r, err := review.Ingresses().Decode(body); err == nil {
			_, _ = p.JudgeIngress(r.Attributes, r.Object, r.Old, e)
		}
	case "/validate/services", "/validate/services/status":
		if r, err := review.Services().Decode(body); err == nil {
			_, _ = p.JudgeService(r.Attributes, r.Object, r.Old, e)
		}
	case "/validate/routes":
		if r, err := review.Routes().Decode(body); err == nil {
			_, _ = p.JudgeRoute(r.Attributes, r.Object, r.Old, e)
		}
	case "/validate/openshiftroutes":
		if r, err := review.OpenShiftRoutes().Decode(body); err == nil {
			_, _ = p.JudgeOpenShiftRoute(r.Attributes, r.Object, r.Old, e)
		}
	case "/validate/certificates":
		if r, err := review.Certificates().Decode(body); err == nil {
			_, _ = p.JudgeCertificate(r.Attributes, r.Object, r.Old, e)
		}
	case "/validate/dnsendpoints":
		if r, err := review.DNSEndpoints().Decode(body); err == nil {
			_, _ = p.JudgeDNSEndpoint(r.Attributes, r.Object, r.Old, e)
		}
	}
	return e.Steps()
}

// Each grammar in which an annotation names hosts is tried, for each kind that has it.
func TestHostGrammars(t *testing.T) {
	table, err := os.ReadFile("../../policy/data/host-annotations.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		wanted, tried := map[string]bool{}, map[string]bool{}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) != 3 || f[0] == "#" || !slices.Contains(strings.Split(f[1], ","), k.name) {
				continue
			}
			wanted[f[2]] = true
			if slices.Contains(keys(k.name), strings.ReplaceAll(f[0], "*", "a")) {
				tried[f[2]] = true
			}
		}
		for grammar := range wanted {
			if !tried[grammar] {
				t.Errorf("%s: no row has an annotation of the grammar %s", k.name, grammar)
			}
		}
	}
}
