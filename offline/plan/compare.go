package plan

import (
	"cmp"
	"slices"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// decision is the decision of one policy about an object.
type decision struct {
	offline.Result
	pulls []pull
}

// pull is the place from which one image of an object, or of its Pod template, is pulled.
type pull struct {
	path   string
	image  string // as written
	from   string
	entry  string // the mirrors entry that rewrites it; may be empty
	secret string // the pull secret that is added to the Pod; may be empty
}

// newPull returns the place from which an image is pulled.
func newPull(o *policy.ImageOutcome, path string) pull {
	p := pull{path: path, image: o.Image.Ref, from: o.Image.Ref}
	if o.Outcome == policy.Rewritten {
		p.from, p.entry, p.secret = o.To, o.Entry, o.PullSecret
	}
	return p
}

// pullsOf returns the places from which the images in an object are pulled. It ignores a pull secret that the Pod
// already has.
func pullsOf(a *admission.Answer) []pull {
	pulls := make([]pull, 0, len(a.Rewriting.Images)+len(a.TemplateImages))
	for i := range a.Rewriting.Images {
		o := &a.Rewriting.Images[i]
		p := newPull(o, o.Image.Path())
		if !slices.Contains(a.Rewriting.PullSecrets.Added, p.secret) {
			p.secret = ""
		}
		pulls = append(pulls, p)
	}
	for i := range a.TemplateImages {
		t := &a.TemplateImages[i]
		pulls = append(pulls, newPull(&t.ImageOutcome, t.Path))
	}
	return pulls
}

// sameAnswer reports whether two answers about one object are certainly the same, which is the most common case. It
// is fast because it does not build any sentences.
func sameAnswer(a, b *admission.Answer) bool {
	return a != nil && b != nil &&
		slices.EqualFunc(a.Findings, b.Findings, sameFinding) &&
		slices.EqualFunc(a.Rewriting.Images, b.Rewriting.Images, sameImage) &&
		slices.Equal(a.Rewriting.PullSecrets.Added, b.Rewriting.PullSecrets.Added) &&
		slices.EqualFunc(a.TemplateImages, b.TemplateImages, func(a, b policy.TemplateImage) bool {
			return a.Path == b.Path && sameImage(a.ImageOutcome, b.ImageOutcome) && a.PullSecret == b.PullSecret
		})
}

func sameFinding(a, b policy.Finding) bool {
	return a.Rule == b.Rule && a.Check == b.Check && a.Path == b.Path && a.Mode == b.Mode && a.Existed == b.Existed &&
		a.PodsDenied == b.PodsDenied && (a.Exempt == nil) == (b.Exempt == nil)
}

func sameImage(a, b policy.ImageOutcome) bool {
	return a.Outcome == b.Outcome && a.To == b.To && a.Entry == b.Entry && a.Mode == b.Mode
}

// change is the difference between two decisions about one object.
type change struct {
	kinds     []Kind // nil if the decisions do not differ
	old, new  level
	findings  []Finding // the most severe first
	images    []Image
	rules     []ruleChange
	namespace string // the namespace in which the object is validated
}

// ruleChange is the change in the findings of one rule or one mirrors entry.
type ruleChange struct {
	rule string
	kind Kind
}

// compare returns the difference between two decisions about one object.
func compare(old, new decision) change {
	was, is := old.remarks(), new.remarks()
	c := change{old: levelOf(was), new: levelOf(is), namespace: cmp.Or(new.Namespace, old.Namespace)}
	c.findings = differing(was, is)
	c.rules = changesOfRules(was, is)
	if kind := c.old.change(c.new); kind != "" {
		c.kinds = append(c.kinds, kind)
	}
	if c.new < podsDenied {
		c.images = changesOfPulls(old.pulls, new.pulls)
	}
	if c.old < podsDenied && len(c.images) > 0 {
		c.kinds = append(c.kinds, RewrittenDiffers)
		c.rules = append(c.rules, entriesOf(c.images)...)
	}
	if c.kinds == nil && len(c.findings) > 0 {
		c.kinds = []Kind{FindingsDiffer}
	}
	return c
}

// remarks returns the findings of a decision. It includes the warnings and audit results of mirrors entries, in the
// form of findings.
func (d *decision) remarks() []offline.Finding {
	all := d.Findings
	for i := range d.Images {
		image := &d.Images[i]
		effect := image.Effect
		if effect == "" && image.Outcome == policy.WouldRewrite.String() {
			effect = offline.Audited
		}
		if effect != "" {
			all = append(all, offline.Finding{
				Effect: effect, ID: entryID(image.Entry), Mode: image.Mode, Path: image.Path, Message: image.Why,
			})
		}
	}
	return all
}

// entryID returns the ID of a mirrors entry in tables of rules. entry is empty if the image is not a valid reference.
func entryID(entry string) string {
	if entry == "" {
		return "image references"
	}
	return "mirrors entry " + entry
}

// place is the rule and the field of a finding. If both policies have a finding at a place, their sentences may
// differ.
type place struct{ id, path string }

// effect is the effect of a finding.
type effect struct {
	place
	effect     offline.Effect
	podsDenied bool
}

func placeOf(f *offline.Finding) place   { return place{f.ID, f.Path} }
func effectOf(f *offline.Finding) effect { return effect{placeOf(f), f.Effect, f.PodsDenied} }

// differing returns the findings that differ: new or changed findings of the new decision, and findings that only the
// old decision has.
func differing(was, is []offline.Finding) []Finding {
	old, before := map[effect]bool{}, map[place]*offline.Finding{}
	for i := range was {
		old[effectOf(&was[i])] = true
		before[placeOf(&was[i])] = &was[i]
	}
	var all []Finding
	after := map[place]bool{}
	for i := range is {
		f := Finding{Change: Added, Finding: is[i]}
		after[placeOf(&is[i])] = true
		if b := before[placeOf(&is[i])]; b != nil {
			f.Change, f.Was, f.was = Changed, b.Effect, levelOfRemark(b)
		}
		if !old[effectOf(&is[i])] {
			all = append(all, f)
		}
	}
	for i := range was {
		if !after[placeOf(&was[i])] {
			all = append(all, Finding{Change: Removed, Finding: was[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Compare(levelOfRemark(&b.Finding), levelOfRemark(&a.Finding))
	})
	return all
}

func levelOf(remarks []offline.Finding) level {
	most := nothing
	for i := range remarks {
		most = max(most, levelOfRemark(&remarks[i]))
	}
	return most
}

func levelOfRemark(f *offline.Finding) level {
	switch {
	case f.Effect == offline.Denial:
		return denied
	case f.PodsDenied:
		return podsDenied
	case f.Effect == offline.Warning:
		return warned
	case f.Effect == offline.Audited:
		return audited
	default:
		return nothing
	}
}

// changesOfRules returns the change for each rule, based on its most severe findings.
func changesOfRules(was, is []offline.Finding) []ruleChange {
	type levels struct{ old, new level }
	found := map[string]levels{}
	for i := range was {
		l := found[was[i].ID]
		l.old = max(l.old, levelOfRemark(&was[i]))
		found[was[i].ID] = l
	}
	for i := range is {
		l := found[is[i].ID]
		l.new = max(l.new, levelOfRemark(&is[i]))
		found[is[i].ID] = l
	}
	var all []ruleChange
	for id, l := range found {
		if kind := l.old.change(l.new); kind != "" {
			all = append(all, ruleChange{id, kind})
		}
	}
	return all
}

// changesOfPulls returns the images that are pulled from another place. If a policy does not validate the kind, it
// does not list the images, and they are pulled from the place in the object.
func changesOfPulls(old, new []pull) []Image {
	was, is := pullsByPath(old), pullsByPath(new)
	var all []Image
	for _, p := range new {
		before, ok := was[p.path]
		if !ok {
			before = pull{from: p.image}
		}
		if p.from != before.from || p.secret != before.secret {
			all = append(all, newImage(p.path, p.image, before, p))
		}
	}
	for _, p := range old {
		if _, ok := is[p.path]; !ok && p.from != p.image {
			all = append(all, newImage(p.path, p.image, p, pull{from: p.image}))
		}
	}
	return all
}

func pullsByPath(pulls []pull) map[string]pull {
	m := make(map[string]pull, len(pulls))
	for _, p := range pulls {
		m[p.path] = p
	}
	return m
}

// entriesOf returns the mirrors entries that rewrite images differently, without duplicates. For each image this is
// the new entry. If the image only has an old entry, it is the old entry.
func entriesOf(images []Image) []ruleChange {
	var all []ruleChange
	for i := range images {
		c := ruleChange{entryID(cmp.Or(images[i].NewEntry, images[i].OldEntry)), RewrittenDiffers}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}
