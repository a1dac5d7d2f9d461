package offline

import "github.com/evergate/evergate/policy"

// Report is the result of judging the input. Its JSON is an interface: from the first release on, fields are added and
// never renamed.
type Report struct {
	Policy     Policy    `json:"policy"`
	AsExisting bool      `json:"asExisting,omitempty"`
	Decision   Decision  `json:"decision"` // of all: invalid before denied before podsRefused before allowed
	Summary    Summary   `json:"summary"`
	Results    []Result  `json:"results"`           // in input order; by namespace, kind and name with asExisting
	Skipped    []Skipped `json:"skipped,omitempty"` // what was not judged, by kind
	Errors     []string  `json:"errors,omitempty"`  // what could not be understood
	// SkippedFiles are those of directories that hold no manifests, by reason.
	SkippedFiles []SkippedFiles `json:"skippedFiles,omitempty"`
	// NotServed are resources that were to be judged, such as certificates.cert-manager.io, and that the API server does
	// not serve.
	NotServed []string `json:"notServed,omitempty"`

	Counts Counts `json:"-"` // for metrics; only with asExisting

	explain bool    // its text has exempt findings too
	failed  []error // what Errors has, with the places
}

// ExitCode is what a command ends with: 0 when all is allowed, 1 when something is denied or its Pods will be, 2 when
// some of the input could not be understood.
func (r *Report) ExitCode() int {
	switch r.Decision {
	case Allowed:
		return 0
	case Denied, PodsRefused:
		return 1
	default:
		return 2
	}
}

// Policy says which policy judged.
type Policy struct {
	Hash string `json:"hash"`
	policy.Counts
}

// Decision is the decision about one object, or about all of them.
type Decision string

// The values of Decision.
const (
	Allowed Decision = "allowed"
	Denied  Decision = "denied"
	// PodsRefused: a workload is allowed with a warning, and the Pods that its controller creates will be denied.
	PodsRefused Decision = "podsRefused"
	Invalid     Decision = "invalid" // some of the input could not be understood
)

// Summary counts objects and images.
type Summary struct {
	Judged int `json:"judged"` // objects
	Denied int `json:"denied"` // of them
	// PodsRefused counts those that are allowed with a warning, and whose Pods will be denied.
	PodsRefused int `json:"podsRefused,omitempty"`

	Warned     int `json:"warned"`     // others that are allowed with a warning
	Rewritten  int `json:"rewritten"`  // images; none with asExisting
	Outside    int `json:"outside"`    // images that run from elsewhere than their mirror; only with asExisting
	Skipped    int `json:"skipped"`    // objects
	EndedPods  int `json:"endedPods"`  // left out; only with asExisting
	MirrorPods int `json:"mirrorPods"` // likewise
	Errors     int `json:"errors"`
}

// Result is the decision about one object; with asExisting about all Pods of one owner that have findings.
type Result struct {
	Kind      string           `json:"kind"`
	Namespace string           `json:"namespace,omitempty"`
	Name      string           `json:"name,omitempty"`
	Source    string           `json:"source,omitempty"`    // file, line and item; absent with asExisting
	Operation policy.Operation `json:"operation,omitempty"` // absent with asExisting
	Pods      int              `json:"pods,omitempty"`      // only with asExisting: how many of the owner
	Decision  Decision         `json:"decision"`
	Findings  []Finding        `json:"findings,omitempty"`
	Images    []Image          `json:"images,omitempty"` // those that something happens to, or all of them with explain
	Rules     []Rule           `json:"rules,omitempty"`  // only with explain

	at   Origin // absent with asExisting
	root string // where the object stands in what is at the origin: request.object in a review
}

// Finding is what one rule found in one field.
type Finding struct {
	Effect  Effect `json:"effect"`
	ID      string `json:"id"` // rule/check
	Mode    string `json:"mode"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`        // what was found and what would pass
	Note    string `json:"note,omitempty"` // the rule's own message
	// PodsRefused: it does not deny the workload, and its Pods will be denied.
	PodsRefused bool `json:"podsRefused,omitempty"`
	Existed     bool `json:"existed,omitempty"` // before the update: so it only warns

	// Of a finding that is exempt: the name of the exception, or the word exclude; until when, as the policy has it; and
	// why.
	ExemptBy     string `json:"exemptBy,omitempty"`
	ExemptUntil  string `json:"exemptUntil,omitempty"`
	ExemptReason string `json:"exemptReason,omitempty"`
}

// Sentence returns what a user reads of the finding.
func (f *Finding) Sentence() string { return f.String() }

// outside is the outcome of an image that runs, with asExisting, from elsewhere than the mirror that the policy has
// for it.
const outside = "outside"

// Effect is the effect of a finding or an image in a cluster.
type Effect string

// The effects.
const (
	Denial  Effect = "denied"  // the request
	Warning Effect = "warning" // shown to the user
	Audited Effect = "audit"   // seen only in audit annotations and metrics
	Exempt  Effect = "exempt"  // likewise: an exception of the policy, or an exclude that ends, silences it
)

// Image is the outcome of one image.
type Image struct {
	Path    string `json:"path"`
	Image   string `json:"image"`            // as written
	Outcome string `json:"outcome"`          // in the words of policy.Outcome, or outside
	Effect  Effect `json:"effect,omitempty"` // warning, where the user is warned
	Entry   string `json:"entry,omitempty"`  // of mirrors, that decided
	Mode    string `json:"mode,omitempty"`   // of that entry
	To      string `json:"to,omitempty"`     // where it is, or would be, pulled from
	// PullSecret is the imagePullSecret of the entry, with which it is, or would be, pulled.
	PullSecret string `json:"pullSecret,omitempty"`
	Why        string `json:"why"`

	Container string `json:"-"` // the place of its container: containers/web
}

// ID returns what tells an image that is warned of from others, as Finding.ID does for findings: the entry of
// mirrors that decided, or images where none did.
func (i *Image) ID() string {
	if i.Entry == "" {
		return "images"
	}
	return i.Entry + "/mirrors"
}

// Pulled returns the image that will be pulled.
func (i *Image) Pulled() string {
	if i.Outcome == policy.Rewritten.String() {
		return i.To
	}
	return i.Image
}

// Sentence returns what a user reads of the image.
func (i *Image) Sentence() string { return i.text(false) }

// Rule records whether a rule applied to the object.
type Rule struct {
	Rule     string `json:"rule"`
	Mode     string `json:"mode"`
	Applies  bool   `json:"applies"`
	Why      string `json:"why"`
	Findings int    `json:"findings"`
	Exempt   int    `json:"exempt,omitempty"` // of them
}

// tell adds a finding.
func (r *Result) tell(f Finding) {
	r.Findings = append(r.Findings, f)
	switch {
	case f.Effect == Denial:
		r.Decision = Denied
	case f.PodsRefused && r.Decision == Allowed:
		r.Decision = PodsRefused
	}
}
