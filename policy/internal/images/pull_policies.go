package images

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// pullPolicyRules is the pullPolicies field. It evaluates imagePullPolicy of containers and pullPolicy of image
// volumes. If they are absent, it evaluates the default of Kubernetes: Always for the tag latest and for an image with
// neither tag nor digest, and otherwise IfNotPresent (SetDefaults_Container in pkg/apis/core/v1/defaults.go of 1.37).
type pullPolicyRules struct {
	// Allowed lists the pull policies that pass: Always, IfNotPresent, Never. [] denies all.
	Allowed []pullPolicy `yaml:"allowed"`
	// Required lists the pull policies that images at certain places must have. The first element that covers an image
	// applies.
	Required []requiredPullPolicy `yaml:"required"`
}

// requiredPullPolicy is a pull policy that images must have: {images: [registry.corp.example/teams], policy: Always}.
type requiredPullPolicy struct {
	// Images lists the places of the images, as in allowed.
	Images []match.ImagePattern `yaml:"images,required"`
	// Policy is the pull policy that the images must have.
	Policy pullPolicy `yaml:"policy,required"`
}

// pullPolicy is a pull policy of Kubernetes.
type pullPolicy string

// UnmarshalText accepts the three pull policies of the API.
func (p *pullPolicy) UnmarshalText(b []byte) error {
	return rule.ReadWord(p, b, "a pull policy", "Always", "IfNotPresent", object.PullNever)
}

// Validate implements strict.Validator.
func (p *pullPolicyRules) Validate() error {
	if p.Allowed == nil && p.Required == nil {
		return rule.ErrNoCheck("allowed or required")
	}
	return rule.RejectEmpty("required", p.Required)
}

// Validate implements strict.Validator.
func (p *requiredPullPolicy) Validate() error { return rule.RejectEmpty("images", p.Images) }

// check compiles the field. excluded are the images that the entry permanently excludes.
func (p *pullPolicyRules) check(excluded match.ImageSet) rule.Check[podView] {
	places := make([]match.ImageSet, len(p.Required))
	for i := range p.Required {
		places[i] = match.NewImageSet(p.Required[i].Images)
	}
	return pullPolicies{p, places, excluded}
}

// pullPolicies is the check images.pullPolicies. A text that is not an image reference is at none of the places of
// required. Seccomp profiles and single images in custom resources do not have a pull policy.
type pullPolicies struct {
	*pullPolicyRules
	places   []match.ImageSet // of the elements of required
	excluded match.ImageSet
}

func (c pullPolicies) Find(pod *podView, r *rule.Recorder) {
	images := pod.images(r)
	for i := range images {
		img := &images[i]
		if !r.Spend(match.ImageSteps * (1 + len(c.places))) {
			return
		}
		if _, excluded := c.excluded.Find(img.ref); excluded || !img.Place.HasPullPolicy() {
			continue
		}
		policy := img.pullPolicy()
		fault := c.fault(img, policy)
		if fault == "" {
			continue
		}
		id := img.identity("images.pullPolicies")
		id.Detail += " " + string(policy)
		if f := r.TryAdd(id); f != nil {
			f.Path, f.Reason = img.pullPolicyPath(), text.Quote(string(policy))+" is not allowed"+fault
			if img.PullPolicy == "" {
				f.Reason = "is absent, and the default " + f.Reason
			}
		}
	}
}

// fault returns the end of a sentence about an image with a pull policy. It returns an empty string if it passes.
func (c pullPolicies) fault(img *podImage, policy pullPolicy) string {
	for i := range c.places {
		if p, covered := c.places[i].FindUnderAnyName(img.ref); covered && img.err == nil {
			if want := c.Required[i].Policy; want != policy {
				return " for images at " + p.String() + "; write " + string(want)
			}
			break
		}
	}
	if c.Allowed != nil && !slices.Contains(c.Allowed, policy) {
		return rule.Passing(c.Allowed)
	}
	return ""
}

// pullPolicy returns the pull policy of the image or its default.
func (i *podImage) pullPolicy() pullPolicy {
	switch tag := i.ref.Tag(); {
	case i.PullPolicy != "":
		return pullPolicy(i.PullPolicy)
	case i.err == nil && (tag == "latest" || i.ref.Suffix == ""):
		return "Always"
	}
	return "IfNotPresent"
}

// pullPolicyPath returns the field of the image's pull policy.
func (i *podImage) pullPolicyPath() string {
	if i.Place == object.Volumes {
		return strings.TrimSuffix(i.Path(), "reference") + "pullPolicy"
	}
	return strings.TrimSuffix(i.Path(), "image") + "imagePullPolicy"
}
