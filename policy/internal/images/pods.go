package images

import (
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// PodsEntry is an entry of the pods block. It is a rule for the images in a Pod as they will be pulled, after all
// rewriting.
type PodsEntry struct {
	rule.RuleHeader
	// Images: the places from which images may be pulled, and their tags and digests.
	Images imagesRule `yaml:"images,required"`
	// Workloads: what Evergate does if the rule finds something in the Pod template of a Deployment, a Job or another
	// workload. Absent: warn.
	Workloads *workloadMode `yaml:"workloads"`
}

// Suggest implements strict.Suggester.
func (e *PodsEntry) Suggest(field string) []string { return rule.PodDimensions().Suggest(field) }

// Validate implements strict.Validator.
func (e *PodsEntry) Validate() error { return e.ValidateFor(rule.PodDimensions()) }

// podView is a Pod with its images parsed, on first use and once for all rules.
type podView struct {
	*object.Pod
	shortNames string                // see mirror.Table
	outcome    []mirror.ImageOutcome // the outcome of rewriting each image; nil if the images are as they are pulled
	parsed     []podImage
}

// Classes returns no classes, because Pods do not have any.
func (*podView) Classes() [2]string { return [2]string{} }

func (r *Rules) viewPod(pod *object.Pod) podView {
	return podView{Pod: pod, shortNames: r.mirrors.ShortNames}
}

// images returns the parsed images. It returns nil if the effort is exhausted.
func (p *podView) images(r *rule.Recorder) []podImage {
	if p.parsed != nil {
		return p.parsed
	}
	parsed := make([]podImage, 0, len(p.Images))
	for i, img := range p.Images {
		if p.outcome != nil && p.outcome[i].Outcome == mirror.Placeholder {
			continue
		}
		if p.outcome != nil && p.outcome[i].Outcome == mirror.Rewritten {
			img.Ref = p.outcome[i].To
		}
		if !r.Spend(match.ReferenceSteps(img.Ref)) {
			return nil
		}
		ref, err := match.ParseReference(img.Ref, p.shortNames)
		parsed = append(parsed, podImage{Image: img, ref: ref, err: err})
	}
	p.parsed = parsed
	return parsed
}

// podImage is an image and its reference.
type podImage struct {
	object.Image
	ref match.Reference
	err error // why it is not an image reference; nil if it is valid

	state mirrorState // see mirrorState
}

// mirrorState is whether an image is at a mirror or excluded from rewriting.
type mirrorState uint8

const (
	mirrorUnknown mirrorState = iota
	mirroredOrExcluded
	notMirrored
)

// mirrorState returns the state of the image. It is looked up on first use. s is the subject of its Pod.
func (i *podImage) mirrorState(t *mirror.Table, s *rule.Subject) mirrorState {
	if i.state == mirrorUnknown {
		i.state = notMirrored
		if out := t.Decide(i.ref, s).Outcome; out == mirror.AtMirror || out == mirror.Excluded {
			i.state = mirroredOrExcluded
		}
	}
	return i.state
}

// identity returns the identity of a finding about an image. All spellings of an image have the same identity, so a
// change of the spelling does not introduce a finding.
func (i *podImage) identity(check string) rule.Identity {
	if i.err != nil {
		return rule.Identity{Check: check, Value: i.Ref, Use: rule.MalformedImage}
	}
	return rule.Identity{Check: check, Value: i.ref.Name, Detail: i.ref.Suffix}
}

// malformed returns the sentence about a text that is not an image reference. so is the consequence at the end of the
// sentence. If the text is an image reference, malformed returns an empty text.
func (i *podImage) malformed(so string) string {
	if i.err == nil {
		return ""
	}
	return "is not an image reference (" + i.err.Error() + "), so it " + so
}
