package offline

import (
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// Report is the result of a review. Its JSON is an interface: from the first release on, fields may be added, but not
// renamed.
type Report struct {
	Policy     Policy   `json:"policy"`
	AsExisting bool     `json:"asExisting,omitempty"`
	Decision   Decision `json:"decision"` // of all objects: invalid, denied, podsDenied, duplicate or allowed, the worst
	Summary    Summary  `json:"summary"`
	Results    []Result `json:"results"` // in input order; by namespace, kind and name with asExisting
	Skips
	Errors []string `json:"errors,omitempty"` // input that could not be understood

	Counts Counts `json:"-"` // for metrics; only with asExisting

	explain bool    // the text includes exempt findings
	failed  []error // the errors in Errors, with their places
}

// ExitCode returns the exit code of a command. It is 0 if all objects are allowed, 1 if an object or its Pods would
// be denied, and 2 if some of the input could not be understood.
func (r *Report) ExitCode() int {
	switch r.Decision {
	case Allowed:
		return 0
	case Denied, PodsDenied, Duplicated:
		return 1
	default:
		return 2
	}
}

// Policy identifies the policy that decided.
type Policy struct {
	Hash string `json:"hash"`
	policy.Counts
}

// Decision is the decision about one object, or about all objects together.
type Decision string

// The values of Decision.
const (
	Allowed Decision = "allowed"
	Denied  Decision = "denied"
	// PodsDenied means that a workload is allowed with a warning, but the Pods that its controller creates will be
	// denied.
	PodsDenied Decision = "podsDenied"
	Duplicated Decision = "duplicate" // all objects are allowed, but an entry of unique in mode enforce finds duplicates
	Invalid    Decision = "invalid"   // some of the input could not be understood
)

// Summary counts objects and images.
type Summary struct {
	Validated int `json:"validated"` // objects
	Denied    int `json:"denied"`    // objects
	// PodsDenied counts workloads that are allowed with a warning, but whose Pods will be denied.
	PodsDenied int `json:"podsDenied,omitempty"`

	Warned    int `json:"warned"`    // other objects that are allowed with a warning, without duplicates
	Rewritten int `json:"rewritten"` // images; always 0 with asExisting
	Outside   int `json:"outside"`   // images that were not pulled from their mirror; only with asExisting
	Skipped   int `json:"skipped"`   // objects
	// NoNamespace counts validated objects without a namespace, if the user did not choose one for them.
	NoNamespace int `json:"noNamespace,omitempty"`

	EndedPods  int `json:"endedPods"`  // left out; only with asExisting
	MirrorPods int `json:"mirrorPods"` // left out, because the user is unknown
	Errors     int `json:"errors"`
	Duplicates int `json:"duplicates,omitempty"` // findings of entries of unique
}

// Result is the decision about one object, or with asExisting about all Pods of one owner that have findings.
type Result struct {
	Kind      string           `json:"kind"`
	Namespace string           `json:"namespace,omitempty"`
	Name      string           `json:"name,omitempty"`
	Source    string           `json:"source,omitempty"`    // file, line and item; absent with asExisting
	Operation object.Operation `json:"operation,omitempty"` // absent with asExisting
	Pods      int              `json:"pods,omitempty"`      // the number of the owner's Pods; only with asExisting
	Decision  Decision         `json:"decision"`
	Findings  []Finding        `json:"findings,omitempty"`
	Images    []Image          `json:"images,omitempty"` // changed and warned about; all with explain
	Rules     []Rule           `json:"rules,omitempty"`  // only with explain

	at   Origin // absent with asExisting
	root string // the path of the object in the JSON at the origin: request.object in a review
}

// Finding is a problem that one rule found in one field.
type Finding struct {
	Effect  Effect `json:"effect"`
	ID      string `json:"id"` // rule/check
	Mode    string `json:"mode"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`        // the problem, and a value that would pass
	Note    string `json:"note,omitempty"` // the message in the rule
	// PodsDenied means that the finding does not deny the workload, but its Pods will be denied.
	PodsDenied bool `json:"podsDenied,omitempty"`
	Existed    bool `json:"existed,omitempty"` // the problem existed before the update, so it only warns

	// Only for an exempt finding: the name of the exception or the word exclude, the end date as written in the
	// policy, and the reason.
	ExemptBy     string `json:"exemptBy,omitempty"`
	ExemptUntil  string `json:"exemptUntil,omitempty"`
	ExemptReason string `json:"exemptReason,omitempty"`

	// Redacted replaces the Message of a duplicate in the reports of a namespace. Empty: the Message is not secret.
	Redacted string `json:"-"`
}

// outside is the outcome of a running image that was not pulled from its mirror, with asExisting.
const outside = "outside"

// Effect is the effect of a finding or an image in a cluster.
type Effect string

// The values of Effect.
const (
	Denial    Effect = "denied"    // the request is denied
	Warning   Effect = "warning"   // shown to the user
	Audited   Effect = "audit"     // seen only in audit annotations and metrics
	Duplicate Effect = "duplicate" // review fails, but the request is allowed
	Exempt    Effect = "exempt"    // as audit, because an exception or an exclude that ends silences the finding
)

// Image is the outcome of one image.
type Image struct {
	Path    string `json:"path"`
	Image   string `json:"image"`            // as written
	Outcome string `json:"outcome"`          // a word of policy.Outcome, or outside
	Effect  Effect `json:"effect,omitempty"` // warning, if the user gets a warning
	Entry   string `json:"entry,omitempty"`  // the mirrors entry that covers it
	Mode    string `json:"mode,omitempty"`   // of that entry
	To      string `json:"to,omitempty"`     // the image that is, or would be, pulled
	// PullSecret is the imagePullSecret of the entry with which the image is, or would be, pulled.
	PullSecret string `json:"pullSecret,omitempty"`
	Why        string `json:"why"`

	Container string `json:"-"` // the place of its container: containers/web
}

// ID identifies the check behind a warning about an image, like Finding.ID does for findings. It contains the mirrors
// entry that covers the image. Without an entry it is "images".
func (i *Image) ID() string {
	if i.Entry == "" {
		return "images"
	}
	return i.Entry + "/mirrors"
}

// Outside reports whether a running image was not pulled from its mirror, unless the mode of its entry is audit.
func (i *Image) Outside() bool { return i.Outcome == outside && i.Mode != policy.Audit.String() }

// Pulled returns the image that will be pulled.
func (i *Image) Pulled() string {
	if i.Outcome == policy.Rewritten.String() {
		return i.To
	}
	return i.Image
}

// Rule records whether a rule applied to the object.
type Rule struct {
	Rule     string `json:"rule"`
	Mode     string `json:"mode"`
	Applies  bool   `json:"applies"`
	Why      string `json:"why"`
	Findings int    `json:"findings"`
	Exempt   int    `json:"exempt,omitempty"` // of the findings
}

// add adds a finding and updates the decision.
func (r *Result) add(f Finding) {
	r.Findings = append(r.Findings, f)
	switch {
	case f.Effect == Denial:
		r.Decision = Denied
	case f.PodsDenied && r.Decision == Allowed:
		r.Decision = PodsDenied
	}
}
