package plan

import (
	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// Report is what changes. Its JSON is an interface: from the first release on, fields are added and never renamed.
type Report struct {
	Old     *offline.Policy `json:"old"` // null for no policy
	New     *offline.Policy `json:"new"`
	Summary Summary         `json:"summary"`
	// Rules and Namespaces have those with most changes first, and count the rest: Namespaces beyond the first ten
	// thousand are one row, (others).
	Rules          []Row `json:"rules"`
	MoreRules      int   `json:"moreRules,omitempty"`
	Namespaces     []Row `json:"namespaces"`
	MoreNamespaces int   `json:"moreNamespaces,omitempty"`
	// Objects are the first of each kind of change, in the order of kinds.
	Objects     []Object `json:"objects"`
	MoreObjects int      `json:"moreObjects,omitempty"` // for which something changes, and that are not listed

	Warnings     []Warning              `json:"warnings,omitempty"` // about entries of the new policy
	Skipped      []offline.Skipped      `json:"skipped,omitempty"`
	SkippedFiles []offline.SkippedFiles `json:"skippedFiles,omitempty"`
	NotServed    []string               `json:"notServed,omitempty"`
	Errors       []string               `json:"errors,omitempty"` // the first of what could not be understood

	fromRecord bool
}

// Summary counts objects.
type Summary struct {
	Judged    int    `json:"judged"`
	Unchanged int    `json:"unchanged"` // of them
	Changes   Counts `json:"changes"`
	Skipped   int    `json:"skipped"`
	EndedPods int    `json:"endedPods"` // left out
	// EndedWorkloads are those that create no more Pods: finished Jobs, old ReplicaSets. They are left out.
	EndedWorkloads int `json:"endedWorkloads,omitempty"`
	// RecordedPods are those that were rewritten: judged by the images that they have, or, with the records, by the
	// originals.
	RecordedPods int `json:"recordedPods"`
	// StaleRecords are those of them whose record has entries that are not about their images. These are ignored.
	StaleRecords int `json:"staleRecords,omitempty"`
	Errors       int `json:"errors"`

	// Of an audit log: requests that were judged although they updated an object, were refused, or were a dry run.
	Updates int `json:"updates,omitempty"`
	Refused int `json:"refused,omitempty"`
	DryRun  int `json:"dryRun,omitempty"`
}

// Row counts the changes by one rule, or in one namespace.
type Row struct {
	Name    string `json:"name"`
	Changes Counts `json:"changes"`
}

// Object is an object that something changes for.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Source    string `json:"source"`          // file, line and item
	Owner     string `json:"owner,omitempty"` // of a Pod: Deployment/web
	// Count is how many objects this one stands for: Pods of one owner, or the same object again, with the same changes.
	Count   int              `json:"count"`
	Changes []Kind           `json:"changes"`
	Old     offline.Decision `json:"old"`
	New     offline.Decision `json:"new"`

	Findings     []Finding `json:"findings,omitempty"` // those that differ, the most severe first
	MoreFindings int       `json:"moreFindings,omitempty"`
	Images       []Image   `json:"images,omitempty"` // those that are pulled from elsewhere
	MoreImages   int       `json:"moreImages,omitempty"`

	// FromRecord: the images are originals of a record, which tenants may write.
	FromRecord bool     `json:"fromRecord,omitempty"`
	Request    *Request `json:"request,omitempty"` // only of an audit log
}

// Decisions of an object beside those of package offline.
const (
	Warned  offline.Decision = "warned"  // allowed with a warning
	Audited offline.Decision = "audited" // allowed, and a rule in mode audit finds something
)

// Side says which of the policies has a finding.
type Side string

// The sides.
const (
	Added   Side = "added"   // the new policy alone
	Removed Side = "removed" // the old one alone
	Changed Side = "changed" // both, with another effect
)

// Finding is a finding that differs.
type Finding struct {
	Change Side `json:"change"`
	offline.Finding
	Was offline.Effect `json:"was,omitempty"` // of one that has changed, its effect under the old policy

	was level
}

// Image is an image that is pulled from elsewhere.
type Image struct {
	Path      string `json:"path"`
	Image     string `json:"image"` // as it is written
	Old       string `json:"old"`   // from where it is pulled
	New       string `json:"new"`
	OldEntry  string `json:"oldEntry,omitempty"` // of mirrors, that rewrites it
	NewEntry  string `json:"newEntry,omitempty"`
	OldSecret string `json:"oldSecret,omitempty"` // that the Pod gets for it
	NewSecret string `json:"newSecret,omitempty"`
}

func newImage(path, image string, old, new pull) Image {
	return Image{
		Path: path, Image: image, Old: old.from, New: new.from, OldEntry: old.entry, NewEntry: new.entry,
		OldSecret: old.secret, NewSecret: new.secret,
	}
}

// Warning is a warning about an entry that does less than it seems to.
type Warning struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// maxErrors is how many errors a report has: enough to see what is wrong with the input.
const maxErrors = 100

func newReport(o *Options) *Report {
	r := &Report{New: newPolicy(o.New), Rules: []Row{}, Namespaces: []Row{}, Objects: []Object{}, fromRecord: o.FromRecord}
	if o.Old != nil {
		r.Old = newPolicy(o.Old)
	}
	for _, w := range o.New.WarningProblems() {
		r.Warnings = append(r.Warnings, Warning(w))
	}
	return r
}

func newPolicy(p *policy.Policy) *offline.Policy {
	return &offline.Policy{Hash: p.Hash(), Counts: p.Counts()}
}

// addError adds what could not be understood.
func (r *Report) addError(err error) {
	r.Summary.Errors++
	if len(r.Errors) < maxErrors {
		r.Errors = append(r.Errors, text.Truncate(err.Error(), admission.MaxSentence))
	}
}

// Denies reports whether the new policy denies an object, or its Pods, that the old one does not.
func (r *Report) Denies() bool {
	c := &r.Summary.Changes
	return c.Of(NewlyDenied)+c.Of(NewlyRefused) > 0
}

// Warns reports whether the new policy warns of an object that the old one does not warn of.
func (r *Report) Warns() bool { return r.Summary.Changes.Of(NewlyWarned) > 0 }

// Changes reports whether anything changes.
func (r *Report) Changes() bool { return r.Summary.Unchanged < r.Summary.Judged }
