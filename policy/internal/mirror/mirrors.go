package mirror

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Entry is an entry of the mirrors block. Images from its sources are pulled from its mirror instead.
type Entry struct {
	rule.Header
	// Sources lists the mirrored places. Each source is a registry, a registry and a path, or a wildcard such as *.gcr.io.
	// If there are several sources, they must have the same content.
	Sources []source `yaml:"sources,required"`
	// Mirror is the place from which the images are pulled instead of the source. It is a registry, or a registry and a
	// path. Its last segment may be {registry}, which is replaced with the registry of the original image. Absent: the
	// entry has qualify.
	Mirror destination `yaml:"mirror"`
	// Qualify: true means that short names of images from the sources get their registry: nginx becomes
	// docker.io/library/nginx. The images are pulled from the same place, and images with a registry are not changed.
	Qualify bool `yaml:"qualify"`
	// ImagePullSecret is the name of a Secret that is added to spec.imagePullSecrets of Pods with rewritten images.
	// Absent: spec.imagePullSecrets is not changed.
	ImagePullSecret pullSecret `yaml:"imagePullSecret"`
}

// Suggest implements strict.Suggester.
func (e *Entry) Suggest(field string) []string { return rule.MirrorDimensions().Suggest(field) }

// Validate implements strict.Validator.
func (e *Entry) Validate() error {
	var faults strict.Faults
	faults.Add(e.ValidateFor(rule.MirrorDimensions()))
	if len(e.Sources) == 0 {
		faults.Fieldf("sources", "[] does not cover any image: list at least one source, such as docker.io")
	}
	if (e.Mirror.place == "") != e.Qualify || e.Qualify && e.Exclude != nil { // images.from accepts excluded images
		faults.Fieldf("mirror", "write a mirror, or qualify: true without a mirror and without exclude")
	}
	seen := make(map[source]bool, len(e.Sources))
	for _, s := range e.Sources {
		if seen[s] {
			faults.Fieldf("sources", "%s is listed twice", s)
		}
		seen[s] = true
		if err := e.Mirror.suits(s); err != nil && !e.Qualify {
			faults.Fieldf("mirror", "%v", err)
		}
	}
	return faults.Err()
}

// ExcludedSources returns the sources whose images the exclude of the entry covers.
func (e *Entry) ExcludedSources() []string {
	if e.Exclude == nil || len(e.Exclude.Images) == 0 {
		return nil
	}
	excluded := match.NewImageSet(e.Exclude.Images)
	var all []string
	for _, s := range e.Sources {
		if excluded.Covers(match.ImagePattern{Name: s.place}) {
			all = append(all, s.String())
		}
	}
	return all
}

// SourcesExcept returns the sources with images that passing does not cover.
func (e *Entry) SourcesExcept(passing match.ImageSet) []string {
	var all []string
	for _, s := range e.Sources {
		if s.place == "" || !passing.Covers(match.ImagePattern{Name: s.place}) {
			all = append(all, s.String())
		}
	}
	return all
}

// source is a set of images that an entry rewrites. It is all images at a place, which is a registry or a path in a
// registry. If place is empty, it is all images from the registries that the wildcard covers.
type source struct {
	place string
	wild  match.Wildcard
}

// UnmarshalText parses a place or a wildcard.
func (s *source) UnmarshalText(b []byte) (err error) {
	switch str := string(b); {
	case strings.ContainsAny(str, "{}"):
		err = fmt.Errorf("%s is not a source: a source has no placeholder; write it out, or a wildcard such as *.gcr.io",
			match.QuoteImage(str))
	case strings.HasPrefix(str, "*"):
		s.wild, err = match.ParseWildcard(str)
	case strings.Contains(str, "*"):
		err = fmt.Errorf("%s is not a source: write a wildcard as *.gcr.io; a path covers everything "+
			"below it without a wildcard",
			match.QuoteImage(str))
	default:
		s.place, err = match.ParsePlace(str)
	}
	return err
}

// String returns the source as it is written in policies.
func (s source) String() string {
	if s.place == "" {
		return s.wild.String()
	}
	return s.place
}

// destination is a mirror. It is a place, with or without the registry of the original image as its last segment.
type destination struct {
	place        string
	keepRegistry bool
	registry     string // as the policy spells it, if different: nodes have credentials for this spelling
}

// registryPlaceholder is replaced with the registry of the original image.
const registryPlaceholder = "{registry}"

// UnmarshalText parses a place that may end with /{registry}.
func (d *destination) UnmarshalText(b []byte) (err error) {
	place, keep := strings.CutSuffix(string(b), "/"+registryPlaceholder)
	if strings.ContainsAny(place, "{}") {
		return fmt.Errorf("%s is not a mirror: the only placeholder is %s, and it must be the last segment, once, "+
			"as in mirror.example/%[2]s", match.QuoteImage(string(b)), registryPlaceholder)
	}
	written, _, _ := strings.Cut(place, "/")
	if place, err = match.ParsePlace(place); err != nil {
		return err
	}
	if registry, _, _ := strings.Cut(place, "/"); registry == written || registry == match.DockerHub {
		written = ""
	}
	if place == match.DockerHub && !keep {
		return errors.New("docker.io puts a name of one segment below library/: write docker.io and a path")
	}
	*d = destination{place, keep, written}
	return nil
}

// String returns the mirror as it is written in policies.
func (d destination) String() string {
	if d.keepRegistry {
		return d.place + "/" + registryPlaceholder
	}
	return d.place
}

// Describe returns the parts of the mirror for programs that translate policies.
func (d destination) Describe() map[string]any {
	written := d.place
	if d.registry != "" {
		registry, _, _ := strings.Cut(d.place, "/")
		written = d.registry + d.place[len(registry):]
	}
	fields := map[string]any{"place": d.place, "written": written}
	if d.keepRegistry {
		fields["keepRegistry"] = "true"
	}
	return fields
}

// suits returns an error if d cannot be the mirror of a source.
func (d destination) suits(s source) error {
	registry, _, _ := strings.Cut(s.place, "/")
	switch {
	case s.place == "" && !d.keepRegistry:
		return fmt.Errorf("%s covers many registries, whose images with the same name must not get the same place: "+
			"write %s/%s", s, d.place, registryPlaceholder)
	case d.keepRegistry && strings.Contains(registry, ":"):
		return fmt.Errorf(`%s cannot represent %s, because a path cannot contain ":": give this source a separate entry `+
			"and mirror", registryPlaceholder, registry)
	}
	return nil
}

// mirror is a compiled entry. Entries in mode off are not compiled.
type mirror struct {
	rule.Header
	to       destination // the zero value if qualify is true
	qualify  bool
	order    int            // index of the entry among the compiled entries
	excluded match.ImageSet // exclude.images

	pullSecret string // imagePullSecret; empty if absent
}

func newMirror(e *Entry, order int) mirror {
	m := mirror{Header: e.Header, to: e.Mirror, qualify: e.Qualify, order: order, pullSecret: string(e.ImagePullSecret)}
	if e.Exclude != nil {
		m.excluded = match.NewImageSet(e.Exclude.Images)
	}
	return m
}

// where returns the name and the position of the entry, for errors.
func (m *mirror) where() string { return fmt.Sprintf("%s (%s)", m.Name, m.Pos) }

// excludesPlace reports whether the entry permanently excludes every image at a place.
func (m *mirror) excludesPlace(place string) bool {
	if m.PermanentExclude() == nil {
		return false
	}
	_, ok := m.excluded.FindPlace(place)
	return ok
}

// mirrorRoute is one source of an entry. It rewrites images from the source to the mirror.
type mirrorRoute struct {
	*mirror
	source source
	base   string // the place at the mirror; for a wildcard, the place above it, without the registry
	// prefix replaces the source in a name. It is base, followed by a slash for a wildcard, because the whole name follows
	// it, beginning with the registry.
	prefix string
}

func newRoute(m *mirror, s source) mirrorRoute {
	if m.qualify {
		return mirrorRoute{mirror: m, source: s, base: s.place, prefix: s.place}
	}
	r := mirrorRoute{mirror: m, source: s, base: m.to.place}
	if m.to.keepRegistry && s.place != "" {
		registry, _, _ := strings.Cut(s.place, "/")
		r.base += "/" + registry
	}
	r.prefix = r.base
	if s.place == "" {
		r.prefix += "/"
	}
	return r
}

// end returns the end of the route.
func (r *mirrorRoute) end() end { return end{r.base, r.source.wild} }

// follow returns the outcome for an image that the source of the route covers.
func (r *mirrorRoute) follow(ref match.Reference, s *rule.Subject) ImageOutcome {
	if r.qualify && !ref.Short {
		return ImageOutcome{Name: ref.Name, Detail: "mirrors entry " + string(r.Name) + " only qualifies short names"}
	}
	out := ImageOutcome{Entry: string(r.Name), Mode: r.Mode}
	if r.Exclude != nil {
		if out.Detail = r.ExcludeReason(ref, r.excluded, s); out.Detail != "" {
			out.Outcome = Excluded
			return out
		}
	}
	normal := r.prefix + ref.Name[len(r.source.place):] + ref.Suffix // its registry is spelled as in Reference.Name
	to := normal
	if r.to.registry != "" {
		registry, _, _ := strings.Cut(r.to.place, "/")
		to = r.to.registry + normal[len(registry):]
	}
	// It is better not to patch an image than to write a text that runtimes parse as another image. The path may have
	// become too long, or the mirror's host may be the only segment, which runtimes parse as a path.
	want := match.Reference{Name: normal[:len(normal)-len(ref.Suffix)], Suffix: ref.Suffix}
	switch got, err := match.ParseReference(to, ""); {
	case err != nil:
		out.Outcome, out.Detail = Malformed, fmt.Sprintf("its mirror would be %s: %v", to, err)
	case got != want:
		out.Outcome, out.Detail = Malformed, fmt.Sprintf("its mirror would be %s, which is read as %s", to, got)
	case r.Mode == rule.Enforce:
		out.Outcome, out.To, out.PullSecret = Rewritten, to, r.pullSecret
	default:
		out.Outcome, out.To, out.PullSecret = WouldRewrite, to, r.pullSecret
	}
	return out
}

// ShortNames is the registry of images that are written without a registry, in the form of match.Reference.
type ShortNames string

// UnmarshalText accepts a registry.
func (n *ShortNames) UnmarshalText(b []byte) error {
	registry, err := match.ParsePlace(string(b))
	if err == nil && strings.ContainsAny(registry, "/_") {
		err = fmt.Errorf("%s is not a registry: write its host, without a path and without _", match.QuoteImage(string(b)))
	}
	*n = ShortNames(registry)
	return err
}
