package plan

import (
	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

// Report lists the changes. Its JSON is an interface: from the first release on, fields may be added, but not
// renamed.
type Report struct {
	Old     *offline.Policy `json:"old"` // null if there is no policy
	New     *offline.Policy `json:"new"`
	Summary Summary         `json:"summary"`
	// Rules and Namespaces list the rows with the most changes first, and count the remaining rows. All namespaces
	// after the first 10,000 share one row, (others).
	Rules          []Row `json:"rules"`
	MoreRules      int   `json:"moreRules,omitempty"`
	Namespaces     []Row `json:"namespaces"`
	MoreNamespaces int   `json:"moreNamespaces,omitempty"`
	// Objects lists the first objects of each kind of change, in the order of kinds.
	Objects     []Object `json:"objects"`
	MoreObjects int      `json:"moreObjects,omitempty"` // changed objects that are not listed

	// Duplicates lists the first duplicates that only the new policy reports, each as an object with one finding.
	Duplicates     []offline.Result `json:"duplicates,omitempty"` // none for an audit log, whose objects may be gone
	MoreDuplicates int              `json:"moreDuplicates,omitempty"`

	Warnings []policy.Problem `json:"warnings,omitempty"` // about entries of the new policy
	offline.Skips
	Errors []string `json:"errors,omitempty"` // the first errors in the input

	fromRecord bool
}

// Summary counts objects.
type Summary struct {
	Validated int    `json:"validated"`
	Unchanged int    `json:"unchanged"` // objects
	Changes   Counts `json:"changes"`
	Skipped   int    `json:"skipped"`
	// NoNamespace counts validated objects without a namespace, if the user did not choose one for them.
	NoNamespace int `json:"noNamespace,omitempty"`

	EndedPods int `json:"endedPods"` // left out
	// MirrorPods counts mirror Pods of static Pods. They are left out, because the user is unknown.
	MirrorPods int `json:"mirrorPods,omitempty"`
	// EndedWorkloads counts workloads that do not create Pods any more: finished Jobs and old ReplicaSets. They are
	// left out.
	EndedWorkloads int `json:"endedWorkloads,omitempty"`
	// RecordedPods counts Pods that were already rewritten. They are validated with their current images, or with the
	// option Recorded with their original images.
	RecordedPods int `json:"recordedPods"`
	// StaleRecords counts Pods whose annotation has entries that do not belong to their images. These entries are
	// ignored.
	StaleRecords int `json:"staleRecords,omitempty"`
	Errors       int `json:"errors"`

	// Only for an audit log: requests that were validated although they updated an object, failed, or were a dry run.
	Updates int `json:"updates,omitempty"`
	Failed  int `json:"failed,omitempty"`
	DryRun  int `json:"dryRun,omitempty"`
}

// Row counts the changes of one rule, or in one namespace.
type Row struct {
	Name    string `json:"name"`
	Changes Counts `json:"changes"`
}

// maxRows is the maximum number of rows in a report, like in the counts of an audit.
const maxRows = 500

// rowsOf returns at most maxRows rows, and the number of remaining rows.
func rowsOf(t output.Tally) (rows []Row, more int) {
	all := t.Rows()
	rows = []Row{}
	for _, row := range all[:min(maxRows, len(all))] {
		rows = append(rows, Row{row.Name, Counts(row.Numbers)})
	}
	return rows, len(all) - len(rows)
}

// Object is an object with changes.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Source    string `json:"source"`          // file, line and item
	Owner     string `json:"owner,omitempty"` // owner of a Pod: Deployment/web
	// Count is the number of objects that this entry represents. They are Pods of one owner, or the same object
	// several times, with the same changes.
	Count   int              `json:"count"`
	Changes []Kind           `json:"changes"`
	Old     offline.Decision `json:"old"`
	New     offline.Decision `json:"new"`

	Findings     []Finding `json:"findings,omitempty"` // findings that differ, the most severe first
	MoreFindings int       `json:"moreFindings,omitempty"`
	Images       []Image   `json:"images,omitempty"` // images that are pulled from another place
	MoreImages   int       `json:"moreImages,omitempty"`

	// FromRecord means that the images are original images from an annotation, which tenants may write.
	FromRecord bool     `json:"fromRecord,omitempty"`
	Request    *Request `json:"request,omitempty"` // only for an audit log
}

// Decisions about an object in addition to the decisions of package offline.
const (
	Warned  offline.Decision = "warned"  // allowed with a warning
	Audited offline.Decision = "audited" // allowed, but with findings of rules in mode audit
)

// Side reports which of the policies has a finding.
type Side string

// The sides.
const (
	Added   Side = "added"   // only the new policy
	Removed Side = "removed" // only the old policy
	Changed Side = "changed" // both policies, with different effects
)

// Finding is a finding that differs.
type Finding struct {
	Change Side `json:"change"`
	offline.Finding
	Was offline.Effect `json:"was,omitempty"` // for a changed finding, its effect under the old policy

	was level
}

// Image is an image that is pulled from another place.
type Image struct {
	Path      string `json:"path"`
	Image     string `json:"image"` // as written
	Old       string `json:"old"`   // the place it is pulled from
	New       string `json:"new"`
	OldEntry  string `json:"oldEntry,omitempty"` // the mirrors entry that rewrites it
	NewEntry  string `json:"newEntry,omitempty"`
	OldSecret string `json:"oldSecret,omitempty"` // the pull secret that is added to the Pod
	NewSecret string `json:"newSecret,omitempty"`
}

func newImage(path, image string, old, new pull) Image {
	return Image{
		Path: path, Image: image, Old: old.from, New: new.from, OldEntry: old.entry, NewEntry: new.entry,
		OldSecret: old.secret, NewSecret: new.secret,
	}
}

// maxErrors is the maximum number of errors in a report. It is enough to see the problem with the input.
const maxErrors = 100

func newReport(o *Options) *Report {
	r := &Report{
		New: newPolicy(o.New), Objects: []Object{}, Warnings: o.New.WarningProblems(), fromRecord: o.Recorded,
	}
	if o.Old != nil {
		r.Old = newPolicy(o.Old)
	}
	return r
}

func newPolicy(p *policy.Policy) *offline.Policy {
	return &offline.Policy{Hash: p.Hash(), Counts: p.Counts()}
}

// addError adds an error about input that could not be understood.
func (r *Report) addError(err error) {
	r.Summary.Errors++
	if len(r.Errors) < maxErrors {
		r.Errors = append(r.Errors, text.Truncate(err.Error(), admission.MaxSentence))
	}
}

// Denies reports whether the new policy denies an object, or its Pods, that the old policy does not deny.
func (r *Report) Denies() bool {
	c := &r.Summary.Changes
	return c.Of(NewlyDenied)+c.Of(PodsNewlyDenied) > 0
}

// Warns reports whether the new policy warns about an object that the old policy does not warn about, or reports a new
// duplicate. A duplicate never denies a request.
func (r *Report) Warns() bool { return r.Summary.Changes.Of(NewlyWarned) > 0 || r.hasDuplicates() }

// Changes reports whether at least one object changes, or there is a new duplicate.
func (r *Report) Changes() bool {
	return r.Summary.Unchanged < r.Summary.Validated || r.hasDuplicates()
}

func (r *Report) hasDuplicates() bool { return len(r.Duplicates)+r.MoreDuplicates > 0 }
