package policy

import (
	"time"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/podtemplate"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/unique"
)

// Finding is one violation of one rule in one field of an object.
type Finding = rule.Finding

// ExemptWord replaces the mode of an exempt finding when findings are counted by mode.
const ExemptWord = rule.ExemptWord

// Exemption silences findings until it ends. It is an entry of exceptions or the exclude of an entry that has until. A
// nil Exemption does not silence any findings.
type Exemption = rule.Exemption

// RuleTrace shows whether a rule applies to an object, for review --explain.
type RuleTrace = rule.Trace

// Effort counts the steps of evaluating one object, and ends the evaluation at a limit.
type Effort = rule.Effort

// ErrExpired means that the evaluation of an object did not finish, because the Effort expired.
var ErrExpired = rule.ErrExpired

// Mode is the stage of the roll-out of an entry. Each stage adds to the one before, so platform teams see the findings
// of a rule before it denies requests.
type Mode = rule.Mode

// These are the modes in the order of a roll-out.
const (
	Off     = rule.Off     // the entry is checked for errors and otherwise ignored
	Audit   = rule.Audit   // findings are recorded in audit annotations and metrics
	Warn    = rule.Warn    // the user is warned too; images are not rewritten
	Enforce = rule.Enforce // the request is denied; images are rewritten
)

// EndOf returns the first time after until, in UTC. until is the value of a field as Describe returns it. EndOf returns
// the zero time for any other text.
func EndOf(until string) time.Time { return rule.EndOf(until) }

// IsSet reports whether a text can be the name of a rule set: whether it is a DNS label (RFC 1123).
func IsSet(s string) bool { return rule.IsSet(s) }

// ImageOutcome is what happens to one image, and why.
type ImageOutcome = mirror.ImageOutcome

// Outcome is what happens to an image.
type Outcome = mirror.Outcome

// The outcomes of an image.
const (
	NoMirror     = mirror.NoMirror     // no source covers it
	Rewritten    = mirror.Rewritten    // an entry in mode enforce rewrites it
	WouldRewrite = mirror.WouldRewrite // an entry in mode warn or audit covers it: reported only
	AtMirror     = mirror.AtMirror     // it is already at a mirror
	Excluded     = mirror.Excluded     // the entry that covers it excludes it
	Unchanged    = mirror.Unchanged    // the update does not change this image
	Malformed    = mirror.Malformed    // the image or its rewritten form is not a valid image reference
	Denied       = mirror.Denied       // a rule in mode enforce denies the original image, so it is not rewritten
	Ignored      = mirror.Ignored      // a subresource that cannot change an image
	NeverPulled  = mirror.NeverPulled  // imagePullPolicy is Never: kubelet looks the image up on the node by its name
	Placeholder  = mirror.Placeholder  // the image is filled in later, by a controller or by another webhook
	// Outcomes is the number of outcomes.
	Outcomes = mirror.Outcomes
)

// PullSecrets contains the names of Secrets that a Pod needs for the mirrors of its rewritten images, but that are
// missing in spec.imagePullSecrets. They are in the order of the images.
type PullSecrets = mirror.PullSecrets

// Template is an entry of templates: a kind of custom resource from whose objects an operator creates Pods, and the
// paths of the Pod templates in these objects. It does not evaluate anything by itself. The rules of pods evaluate the
// Pods.
type Template = podtemplate.Kind

// TemplatePath is the path from the root of an object to a PodTemplateSpec or a PodSpec. It consists of field names and
// AnyElement.
type TemplatePath = podtemplate.Path

// AnyElement matches every field of an object and every element of a list.
const AnyElement = podtemplate.AnyElement

// Rewriting is the result of RewritePod.
type Rewriting = images.Rewriting

// WorkloadResult is the result of ReviewWorkload.
type WorkloadResult = images.WorkloadResult

// TemplateImage is what happens to an image of a template's Pod.
type TemplateImage = images.TemplateImage

// MaxRegexValue is the maximum number of characters of a value that regular expressions are compared with.
const MaxRegexValue = match.MaxRegexValue

// LooksLikeHosts reports whether the value of an annotation is a list of host names, separated by commas. Each name
// must have a dot, and its last label must consist of at least two letters or begin with xn--.
func LooksLikeHosts(value string) bool { return host.LooksLikeNames(value) }

// DefaultGlobbingClasses returns the Ingress classes whose controllers serve names at any depth for *.example in a
// rule, unless the policy lists them after !.
func DefaultGlobbingClasses() []string { return claim.DefaultGlobbingClasses() }

// UniqueIndex contains the values that many objects claim, for the unique block.
type UniqueIndex = unique.Index

// UniqueObject is one of the objects of a UniqueIndex.
type UniqueObject = unique.Object

// Duplicate is a value that two objects claim.
type Duplicate = unique.Duplicate

// HostAnnotation is an annotation by which objects of a kind claim hosts.
type HostAnnotation = claim.HostAnnotation
