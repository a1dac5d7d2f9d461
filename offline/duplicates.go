package offline

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// Duplicates compares objects with each other by the unique block of a policy. Without active entries, it does nothing.
type Duplicates struct{ index *policy.UniqueIndex }

// NewDuplicates returns a comparison without objects.
func NewDuplicates(o *Options) Duplicates { return Duplicates{o.Policy.NewUniqueIndex(o.Now)} }

// Add adds an object that has been read. ref is returned with its duplicates.
func (d *Duplicates) Add(o Object, a *admission.Answer, ref int) {
	if d.index == nil || a == nil {
		return
	}
	u := policy.UniqueObject{Kind: o.Kind, Namespace: a.Namespace, Name: o.Name, Ref: ref, Object: a.Object}
	if _, isPod := a.Object.(*object.Pod); !isPod {
		readDetails(o, &u)
		d.index.Add(&u)
	}
}

// All yields the duplicates as findings, with the objects to which they belong.
func (d *Duplicates) All() iter.Seq2[policy.Duplicate, Finding] {
	return func(yield func(policy.Duplicate, Finding) bool) {
		for found := range d.index.Duplicates() {
			f := newFinding(found.Finding)
			if f.Redacted = found.Redacted; f.Effect == Denial {
				f.Effect = Duplicate
			}
			if !yield(found, f) {
				return
			}
		}
	}
}

// readDetails reads the fields on which only the comparison with other objects depends. The object is valid as far as
// decisions depend on it. A field of another type is ignored, as if it were absent.
func readDetails(o Object, to *policy.UniqueObject) {
	var read struct {
		Metadata struct {
			Created string `json:"creationTimestamp"`
		} `json:"metadata"`
		Spec struct {
			Selector  jsontext.Value `json:"selector"`
			ParentRef struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"parentRef"`
			Rules []struct {
				Matches []routeMatch `json:"matches"`
			} `json:"rules"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(o.JSON, &read)
	to.Created, _ = time.Parse(time.RFC3339, read.Metadata.Created)
	to.Parent = object.Reference{Namespace: read.Spec.ParentRef.Namespace, Name: read.Spec.ParentRef.Name}
	switch o.Kind {
	case "Service":
		_ = json.Unmarshal(read.Spec.Selector, &to.Selector)
	case "HTTPRoute", "GRPCRoute":
		for _, r := range read.Spec.Rules {
			if len(r.Matches) == 0 {
				r.Matches = make([]routeMatch, 1)
			}
			for i := range r.Matches {
				to.Matches = append(to.Matches, r.Matches[i].text())
			}
		}
	}
}

// routeMatch is one element of matches of an HTTPRoute or a GRPCRoute.
type routeMatch struct {
	Path struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"path"`
	Headers     []namedMatch   `json:"headers"`
	QueryParams []namedMatch   `json:"queryParams"`
	Method      jsontext.Value `json:"method"` // a word, or a mapping in a GRPCRoute
}

type namedMatch struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// text returns a text that is equal for matches of the same requests, with the defaults of Gateway API.
func (m *routeMatch) text() string {
	m.Path.Type, m.Path.Value = cmp.Or(m.Path.Type, "PathPrefix"), cmp.Or(m.Path.Value, "/")
	if m.Path.Type == "PathPrefix" {
		m.Path.Value = strings.TrimSuffix(m.Path.Value, "/")
	}
	for i := range m.Headers {
		m.Headers[i].Name = strings.ToLower(m.Headers[i].Name) // RFC 9110, section 5.1
	}
	for _, list := range [][]namedMatch{m.Headers, m.QueryParams} {
		for i := range list {
			list[i].Type = cmp.Or(list[i].Type, "Exact")
		}
		slices.SortFunc(list, func(a, b namedMatch) int { return cmp.Compare(a.Name, b.Name) })
	}
	grpc := map[string]any{"type": "Exact"}
	if m.Method.Kind() == '{' && json.Unmarshal(m.Method, &grpc) == nil {
		m.Method, _ = json.Marshal(grpc, json.Deterministic(true))
	}
	text, _ := json.Marshal(m) // it was JSON before
	return string(text)
}

// addDuplicates adds the duplicates to the results of their objects.
func (r *reviewer) addDuplicates() {
	for of, f := range r.duplicates.All() {
		result := &Result{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, Decision: Allowed}
		shown := result
		if !r.Options.AsExisting {
			shown = &r.Results[of.Ref]
		} else if s := r.owners[ownerKey{of.Namespace, of.Kind, of.Name}]; s != nil {
			shown = &s.Result
		}
		before := shown.Decision == Allowed && !shown.Warns()
		if r.Options.AsExisting {
			r.counts.Findings[FindingCount{of.Namespace, of.Rule, of.Check, of.ModeWord()}]++
			result.add(f)
			r.owners.add(*result)
		} else {
			shown.add(f)
		}
		switch {
		case f.Effect == Duplicate:
			r.Summary.Duplicates++
		case f.Effect == Warning && before:
			r.Summary.Warned++
		}
	}
}
