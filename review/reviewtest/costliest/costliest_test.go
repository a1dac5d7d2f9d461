package costliest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// At least one kind of each webhook is tried.
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

// TestEveryFieldIsTried changes the fields of the rows, one by one, and checks that each part of a decoded object
// changes with at least one of them. A part that never changes is read from a field that no row has.
func TestEveryFieldIsTried(t *testing.T) {
	fixed := regexp.MustCompile(`\.Images\[\]\.(Index|Place)$|\.Templates\[\]\.Path$|` + // its position
		`\.Content$|LoadBalancerIngress\[\]\.Ports$|` + // JSON of several fields
		`\.Texts\[\]\.(Field|In|Index)$|` + // where it is
		`\.OwnershipRecord$|` + // a word in a target
		`\.Extension\.Namespace$`) // an extension does not have a namespace in Gateway API
	changed, all := map[string]bool{}, map[string]bool{}
	for _, k := range kinds() {
		for _, f := range k.fields() {
			if !f.object() {
				continue
			}
			var values [2]map[string][]string
			for i := range values {
				request, err := k.decode([]byte(k.sent.with(f.Path, f.valid(i))))
				if err != nil {
					t.Fatalf("%s: %s: %v", k.name, f.Path, err)
				}
				object := reflect.ValueOf(request).Elem().FieldByName("Object").Elem()
				values[i] = map[string][]string{}
				leaves(object, object.Type().Name(), values[i])
				typeLeaves(object.Type(), object.Type().Name(), all)
			}
			for leaf, value := range values[0] {
				if !slices.Equal(value, values[1][leaf]) {
					changed[leaf] = true
				}
			}
		}
	}
	for _, leaf := range slices.Sorted(maps.Keys(all)) {
		if !changed[leaf] && !fixed.MatchString(leaf) {
			t.Errorf("no row changes %s: has its kind the Kubernetes type with the field that it is read from?", leaf)
		}
	}
}

// leaves adds the values within v that are not structs, pointers or lists, by their position in its type.
func leaves(v reflect.Value, at string, all map[string][]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			leaves(v.Elem(), at, all)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), at+"[]", all)
		}
	case reflect.Struct:
		for f, value := range v.Fields() {
			leaves(value, at+"."+f.Name, all)
		}
	default:
		all[at] = append(all[at], fmt.Sprint(v))
	}
}

// typeLeaves adds the positions where a value of type t can have leaves.
func typeLeaves(t reflect.Type, at string, all map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer:
		typeLeaves(t.Elem(), at, all)
	case reflect.Slice:
		typeLeaves(t.Elem(), at+"[]", all)
	case reflect.Struct:
		for f := range t.Fields() {
			typeLeaves(f.Type, at+"."+f.Name, all)
		}
	default:
		all[at] = true
	}
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
			Owners: n, Unique: 2 * n,
		}
		if got := load(t, text).Counts(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestRows checks that each row is in one part and has a unique name, and that rows are reviews of about the right
// length.
func TestRows(t *testing.T) {
	const size = 4 << 10
	names, inPart := map[string]bool{}, [2]int{}
	for part := range inPart {
		for _, r := range Rows(len(inPart), part) {
			if names[r.Name] {
				t.Errorf("%s: twice", r.Name)
			}
			names[r.Name] = true
			inPart[part]++
		}
	}
	if less := inPart[0] - inPart[1]; len(names) < 1000 || less < -1 || less > 1 {
		t.Errorf("%d rows, in two parts %d", len(names), inPart)
	}
	for _, r := range Rows(sampled(t)) {
		body := r.Body(size)
		if !json.Valid(body) {
			t.Errorf("%s: not JSON: %.200s", r.Name, body)
		}
		if len(body) < size/2 || len(body) > 3*size {
			t.Errorf("%s: %d bytes, want about %d", r.Name, len(body), size)
		}
	}
}

// TestSteps decides reviews and checks that none takes more steps than the limit, whatever the object contains.
func TestSteps(t *testing.T) {
	p := load(t, Ten())
	webhooks := map[string]admission.Webhook{}
	for _, w := range admission.Webhooks() {
		webhooks[w.Path] = w
	}
	parts, part := sampled(t)
	most := 0
	for _, r := range Rows(parts, part) {
		size := 256 << 10 // the evaluated elements, and more
		if !r.Many {
			size = 64 << 10
		}
		body := r.Body(size)
		w, ok := webhooks[r.Path]
		if !ok {
			t.Fatalf("%s: no webhook has this path", r.Name)
		}
		e := new(policy.Effort)
		// An error means that the review is malformed, which does not take any steps.
		_, _ = w.Decide(p, "", body, time.Time{}, e, func(string) {})
		most = max(most, e.Steps())
		// The last evaluated value may be the whole body, and three times as long if it is not UTF-8. A byte may count
		// twice for a regular expression, which is then not executed.
		if e.Steps() > maxSteps+2*3*len(body) {
			t.Errorf("%s: %d steps", r.Name, e.Steps())
		}
	}
	if most < maxSteps/10 {
		t.Errorf("at most %d steps: too few to be the worst", most)
	}
}

// TestEffortOfTexts decides reviews of each text twice, with n and 2n elements, and compares the additional steps with
// the additional bytes. A reader counts at least one step for each element that it splits off. If it counted them before
// it reads the text, no limit could interrupt it. No text takes more than three steps per byte.
func TestEffortOfTexts(t *testing.T) {
	p, list := load(t, One()), listAnnotations(t)
	webhooks := map[string]admission.Webhook{}
	for _, w := range admission.Webhooks() {
		webhooks[w.Path] = w
	}
	for _, text := range Texts() {
		element, isList := ",", list[text.kind.name][text.key]
		switch {
		case strings.HasSuffix(text.place, "literalSubject"):
			element, isList = "O=,", true
		case strings.Contains(text.place, ".infrastructure."):
			isList = list["Service"][text.key]
		case strings.HasSuffix(text.key, "-ranges"):
			isList = true
		case text.kind.name == "DNSEndpoint": // it has no annotations but properties
			isList = strings.HasSuffix(text.place, "providerSpecific[].value") && len(text.variant.sets) > 0
		}
		const n = 2000
		steps := func(n int) int {
			content := func(int, way) string { return strings.Repeat(element, n) + strings.Repeat(" ", n/2) }
			w, e := webhooks[text.paths[0]], new(policy.Effort)
			if _, err := w.Decide(p, "", text.with(content).Body(0), time.Time{}, e, func(string) {}); err != nil {
				t.Fatalf("%s: %v", text.Name, err)
			}
			return e.Steps()
		}
		more, bytes := steps(2*n)-steps(n), n*len(element)+n/2
		if isList && more < n {
			t.Errorf("%s: %d more elements take %d steps", text.Name, n, more)
		}
		if more < 0 || more > 3*bytes {
			t.Errorf("%s: %d more bytes take %d steps", text.Name, bytes, more)
		}
	}
}

// listAnnotations returns the annotations in keys whose value is split into elements, by kind. An annotation of another
// kind is a list too, if its grammar is not known to read the value as a whole.
func listAnnotations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	whole := []string{"any", "alb", "eskip", "url", "pathmatcher", "www", "target", "nginxconf"}
	all := map[string]map[string]bool{}
	for _, row := range hostAnnotations(t) {
		for _, kind := range row.kinds {
			if all[kind] == nil {
				all[kind] = map[string]bool{}
			}
			all[kind][row.key] = !slices.Contains(whole, row.grammar)
		}
	}
	return all
}

// hostAnnotation is a row of host-annotations.txt.
type hostAnnotation struct {
	key     string // with an a for each *
	kinds   []string
	grammar string
}

func hostAnnotations(t *testing.T) (rows []hostAnnotation) {
	t.Helper()
	table, err := os.ReadFile("../../../policy/internal/claim/data/host-annotations.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] != "#" {
			rows = append(rows, hostAnnotation{strings.ReplaceAll(f[0], "*", "a"), strings.Split(f[1], ","), f[2]})
		}
	}
	return rows
}

// sampled returns the number of parts into which a test divides the rows, and the part that it tries. With the race
// detector, a row takes ten times as long.
func sampled(t *testing.T) (parts, part int) {
	t.Helper()
	parts = 61
	if Race() || testing.Short() {
		parts = 211
	}
	part, err := Part(parts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("part %d of %d", part, parts)
	return parts, part
}

// TestPart checks that the same program selects the same part, and that the variable overrides it.
func TestPart(t *testing.T) {
	first, err := Part(8)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Part(8); err != nil || again != first || first < 0 || first >= 8 {
		t.Errorf("part %d, then %d (%v)", first, again, err)
	}
	t.Setenv(partVariable, "7")
	if part, err := Part(8); err != nil || part != 7 {
		t.Errorf("part %d (%v), want 7", part, err)
	}
	for _, value := range []string{"8", "-1", "x", ""} {
		t.Setenv(partVariable, value)
		want := fmt.Sprintf("EVERGATE_WORST_PART is %q: it must be a number from 0 to 7", value)
		if _, err := Part(8); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", value, err, want)
		}
	}
}

// Each annotation grammar with host names is tried for each kind that uses it.
func TestHostGrammars(t *testing.T) {
	for _, k := range kinds() {
		wanted, tried := map[string]bool{}, map[string]bool{}
		for _, row := range hostAnnotations(t) {
			if slices.Contains(row.kinds, k.name) {
				wanted[row.grammar] = true
				tried[row.grammar] = tried[row.grammar] || slices.Contains(keys(k.name), row.key)
			}
		}
		for grammar := range wanted {
			if !tried[grammar] {
				t.Errorf("%s: no row has an annotation of the grammar %s", k.name, grammar)
			}
		}
	}
}
