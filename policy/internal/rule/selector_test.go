package rule

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/object"
)

func mustLabel(t *testing.T, text string) labelPattern {
	t.Helper()
	var l labelPattern
	if err := l.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return l
}

var jane = Subject{
	Attributes: object.Attributes{Namespace: "team-a", User: "jane", Groups: []string{"devs", "system:authenticated"}},
	Labels:     map[string]string{"app": "web-1", "empty": ""}, classes: [2]string{"public-eu"},
}

// A match needs one element of every dimension that it has.
func TestMatch(t *testing.T) {
	label := func(text string) []labelPattern { return []labelPattern{mustLabel(t, text)} }
	for name, test := range map[string]struct {
		match *Selector
		want  string
	}{
		"empty":             {&Selector{}, "applies"},
		"one element of it": {&Selector{Namespaces: []match.Glob{"x", "team-*"}}, "applies"},
		"all dimensions":    {&Selector{Namespaces: []match.Glob{"team-a"}, Users: []match.Glob{"j*"}, Groups: []match.Glob{"devs"}, PodLabels: label("app=web-*")}, "applies"},
		"no namespace":      {&Selector{Namespaces: []match.Glob{}}, `not matched: match.namespaces does not cover "team-a"`},
		"namespace":         {&Selector{Namespaces: []match.Glob{"x"}, Users: []match.Glob{"x"}}, `not matched: match.namespaces does not cover "team-a"`},
		"user":              {&Selector{Namespaces: []match.Glob{"*"}, Users: []match.Glob{"joe"}}, `not matched: match.users does not cover "jane"`},
		"groups":            {&Selector{Groups: []match.Glob{"ops", "dev"}}, `not matched: match.groups does not cover "devs, system:authenticated"`},
		"labels":            {&Selector{PodLabels: label("app=db")}, "not matched by match.podLabels"},
		"label key":         {&Selector{PodLabels: label("app")}, "applies"},
		"absent label":      {&Selector{PodLabels: label("tier")}, "not matched by match.podLabels"},
		"empty value":       {&Selector{PodLabels: label("empty=")}, "applies"},
		"not empty value":   {&Selector{PodLabels: label("app=")}, "not matched by match.podLabels"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := test.match.matches(&jane); got.String() != test.want || ok != (test.want == "applies") {
				t.Errorf("got  %s, %t\nwant %s", got, ok, test.want)
			}
		})
	}
	if got, _ := (&Selector{Users: []match.Glob{"x"}}).matches(&Subject{}); got.String() != "not matched by match.users" {
		t.Errorf("no user: %s", got)
	}
	hostile := &Selector{Namespaces: []match.Glob{"x"}}
	want := `not matched: match.namespaces does not cover "\x1b[2J"`
	if got, _ := hostile.matches(&Subject{Attributes: object.Attributes{Namespace: "\x1b[2J"}}); got.String() != want {
		t.Errorf("a terminal's escape sequence: %s", got)
	}
}

// An exclude needs only one of its dimensions.
func TestExclude(t *testing.T) {
	for name, test := range map[string]struct {
		exclude *Selector
		want    string
	}{
		"nothing":   {&Selector{Namespaces: []match.Glob{"x"}, Users: []match.Glob{"x"}, Groups: []match.Glob{"x"}, PodLabels: []labelPattern{mustLabel(t, "x")}}, "applies"},
		"namespace": {&Selector{Namespaces: []match.Glob{"x", "team-*"}, Users: []match.Glob{"x"}}, "excluded: exclude.namespaces has team-*"},
		"user":      {&Selector{Namespaces: []match.Glob{"x"}, Users: []match.Glob{"j*"}}, "excluded: exclude.users has j*"},
		"group":     {&Selector{Users: []match.Glob{"x"}, Groups: []match.Glob{"system:*"}}, "excluded: exclude.groups has system:*"},
		"label":     {&Selector{PodLabels: []labelPattern{mustLabel(t, "app=web-*")}}, "excluded: exclude.podLabels has app=web-*"},
		"label key": {&Selector{PodLabels: []labelPattern{mustLabel(t, "app")}}, "excluded: exclude.podLabels has app"},
		"images":    {&Selector{Images: make([]match.ImagePattern, 1)}, "applies"},
		"labels":    {&Selector{Labels: []labelPattern{mustLabel(t, "app=web-*")}}, "excluded: exclude.labels has app=web-*"},
		"class":     {&Selector{ClassNames: []match.Glob{"x", "public*"}}, "excluded: exclude.classNames has public*"},
		"no class":  {&Selector{LoadBalancerClasses: []match.Glob{"other"}}, "applies"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, excluded := test.exclude.excludes(&jane); got.String() != test.want || excluded != (test.want != "applies") {
				t.Errorf("got  %s, %t\nwant %s", got, excluded, test.want)
			}
		})
	}
}

func TestExcludeWinsOverMatch(t *testing.T) {
	h := Header{Match: &Selector{Namespaces: []match.Glob{"*"}}, Exclude: &Selector{Users: []match.Glob{"jane"}}}
	if got, ok := h.applies(&jane); ok || got.String() != "excluded: exclude.users has jane" {
		t.Error(got, ok)
	}
}

// Every dimension that does not have a meaning for a kind of entry is rejected with the reason.
func TestSelectorErrors(t *testing.T) {
	const (
		people = " has no meaning here: Pods are created by controllers, not by people; use namespaces or podLabels"
		pods   = "podLabels has no meaning here: only mirrors and pods entries match Pods"
		images = "images has no meaning here: only mirrors and pods entries match images"
	)
	full := &Selector{
		Namespaces: []match.Glob{"a"}, Users: []match.Glob{"a"}, Groups: []match.Glob{"a"}, PodLabels: []labelPattern{{}}, Images: make([]match.ImagePattern, 1),
		Labels: []labelPattern{{}}, ClassNames: []match.Glob{"a"}, LoadBalancerClasses: []match.Glob{"a"},
		GatewayClassNames: []match.Glob{"a"},
	}
	empty := &Selector{Namespaces: []match.Glob{}, Users: []match.Glob{}, Groups: []match.Glob{}, PodLabels: []labelPattern{}, Images: []match.ImagePattern{}}
	none := Dimensions{names: []string{"namespaces"}}
	all := Dimensions{names: strings.Fields("namespaces users groups podLabels images labels classNames loadBalancerClasses gatewayClassNames")}
	for name, test := range map[string]struct {
		allowed Dimensions
		sel     *Selector
		isMatch bool
		want    []string
	}{
		"absent":     {none, nil, true, nil},
		"namespaces": {none, &Selector{Namespaces: []match.Glob{"a"}}, true, nil},
		"nothing else": {none, full, false, []string{"users" + people, "groups" + people, pods, images,
			"labels has no meaning here: mirrors and pods entries match podLabels instead",
			"classNames has no meaning here: only ingresses entries match Ingress classes",
			"loadBalancerClasses has no meaning here: only services entries match load balancer classes",
			"gatewayClassNames has no meaning here: only gateways entries match Gateway classes"}},
		"everything":        {all, full, false, nil},
		"images in a match": {all, full, true, []string{"images has no meaning in match: other fields of the entry select its images"}},
		"a match of nothing": {all, &Selector{Namespaces: []match.Glob{}}, true, []string{
			"namespaces: [] matches nothing: leave the field out"}},
		"a namespace that cannot be": {all, &Selector{Namespaces: []match.Glob{"team-*", "^team-.*$"}}, false, []string{
			`namespaces: "^team-.*$" matches nothing: a namespace is written with lower case letters, digits and -, at most 63` +
				"; write team-*"}},
		"groups as users and users as groups": {all, &Selector{
			Users:  []match.Glob{"system:serviceaccounts:ci", "system:serviceaccount:ci:*", "system:serviceaccount*"},
			Groups: []match.Glob{"system:serviceaccount:ci:*", "system:serviceaccounts", "system:serviceaccount*"},
		}, true, []string{
			`users: "system:serviceaccounts:ci" matches no user: it is a group of service accounts; write it in a list of groups, ` +
				"or write system:serviceaccount:NAMESPACE:NAME",
			`groups: "system:serviceaccount:ci:*" matches no group: it is a service account; write it in a list of users, ` +
				"or write system:serviceaccounts:NAMESPACE",
		}},
		"an exclude of nothing": {all, empty, false, []string{
			"namespaces: [] excludes nothing: leave the field out", "users: [] excludes nothing: leave the field out",
			"groups: [] excludes nothing: leave the field out", "podLabels: [] excludes nothing: leave the field out",
			"images: [] excludes nothing: leave the field out"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range test.allowed.reject(test.sel, test.isMatch) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLabelPatternErrors(t *testing.T) {
	const written = " matches no label: key and value are written with letters, digits, - _ and ., a key also with /"
	for text, want := range map[string]string{
		"":      `"" is not a label: write key or key=value`,
		"=web":  `"=web" is not a label: write key or key=value`,
		"app*":  `"app*" is not a label: write key or key=value`,
		"*=web": `"*=web" is not a label: write key or key=value`,

		"app = web":      `"app = web"` + written + "; write app=web",
		" a.example/app": `" a.example/app"` + written + "; write a.example/app",
		"app!=web":       `"app!=web"` + written,
		"app in (web)":   `"app in (web)"` + written,
		"app==web-*":     `"app==web-*"` + written,
		"app=a/b":        `"app=a/b"` + written,
		"app=^web$":      `"app=^web$"` + written,
	} {
		if err := new(labelPattern).UnmarshalText([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if err := new(match.Glob).UnmarshalText(nil); err == nil || err.Error() != `an empty pattern matches nothing: write "*" for everything` {
		t.Errorf("an empty glob: %v", err)
	}
}
