package revise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/policy"
)

// Kept is the number of revisions that are kept. They cover more than a day of changes, and take at most 10 MiB.
const Kept = 10

// The labels and annotations of revisions.
const (
	ofLabel      = "evergate.dev/revision-of" // the name of the ConfigMap with the policy
	numberKey    = "evergate.dev/revision"
	hashKey      = "evergate.dev/policy-hash"
	byKey        = "evergate.dev/applied-by"
	noteKey      = "evergate.dev/note"
	maxConfigMap = 253 // maximum length of a name in bytes
)

// Revision is a policy that was applied. Its JSON is an interface.
type Revision struct {
	Number  int           `json:"revision"`
	Hash    string        `json:"policy"`
	At      time.Time     `json:"applied"`
	By      string        `json:"by,omitempty"`
	Note    string        `json:"note,omitempty"`
	Current bool          `json:"current"` // it is in the ConfigMap; Revisions does not set it
	Files   []policy.File `json:"-"`
	name    string
}

// Revisions returns the revisions that are kept, the newest first.
func (p *Policies) Revisions(ctx context.Context) ([]Revision, error) {
	list, err := p.Client.CoreV1().
		ConfigMaps(p.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: ofLabel + "=" + p.Name})
	if err != nil {
		return nil, fmt.Errorf("read the revisions: %w", err)
	}
	var all []Revision
	for i := range list.Items {
		cm := &list.Items[i]
		n, err := strconv.Atoi(cm.Annotations[numberKey])
		if err != nil {
			continue // not written by the plugin
		}
		all = append(all, Revision{
			Number: n, Hash: cm.Annotations[hashKey], By: cm.Annotations[byKey], At: cm.CreationTimestamp.UTC(),
			Note: cm.Annotations[noteKey], Files: Files(cm), name: cm.Name,
		})
	}
	slices.SortFunc(all, func(a, b Revision) int { return cmp.Compare(b.Number, a.Number) })
	return all, nil
}

// Find returns the revision with a number. If number is 0, it returns the newest revision whose policy does not have
// the hash of the current policy.
func Find(all []Revision, number int, hash string) (Revision, error) {
	for _, r := range all {
		if r.Number == number || number == 0 && r.Hash != hash {
			return r, nil
		}
	}
	if number == 0 {
		return Revision{}, errors.New("there is no other revision: kubectl evergate history lists them")
	}
	return Revision{}, fmt.Errorf("there is no revision %d: kubectl evergate history lists the revisions", number)
}

// Record stores a policy as the newest revision, unless the newest revision already contains it, and removes the
// oldest revisions. It returns the number of the revision.
func (p *Policies) Record(ctx context.Context, files []policy.File, hash, by, note string) (int, error) {
	all, err := p.Revisions(ctx)
	if err != nil {
		return 0, err
	}
	if len(all) > 0 && all[0].Hash == hash {
		return all[0].Number, nil
	}
	next := 1
	if len(all) > 0 {
		next = all[0].Number + 1
	}
	for { // another client may have taken the number
		_, err := p.Client.CoreV1().ConfigMaps(p.Namespace).Create(ctx, p.revision(next, files, hash, by, note),
			metav1.CreateOptions{FieldManager: Manager})
		if err == nil {
			break
		}
		if !apierrors.IsAlreadyExists(err) {
			return 0, fmt.Errorf("keep revision %d: %w", next, err)
		}
		next++
	}
	return next, p.prune(ctx, all)
}

func (p *Policies) revision(number int, files []policy.File, hash, by, note string) *corev1.ConfigMap {
	n, immutable := strconv.Itoa(number), true
	name := p.Name[:min(len(p.Name), maxConfigMap-len(".r")-len(n))] + ".r" + n
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: name, Labels: map[string]string{ofLabel: p.Name},
			Annotations: map[string]string{numberKey: n, hashKey: hash, byKey: by, noteKey: note},
		},
		Immutable: &immutable, Data: map[string]string{},
	}
	for _, f := range files {
		cm.Data[f.Name] = string(f.Data)
	}
	return cm
}

// prune removes the oldest revisions. before contains the revisions before the newest revision.
func (p *Policies) prune(ctx context.Context, before []Revision) error {
	for _, r := range before[min(len(before), Kept-1):] {
		err := p.Client.CoreV1().ConfigMaps(p.Namespace).Delete(ctx, r.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove revision %d: %w", r.Number, err)
		}
	}
	return nil
}

// WhoAmI returns the name of the user that the API server has authenticated, or "unknown".
func (p *Policies) WhoAmI(ctx context.Context) string {
	review, err := p.Client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return "unknown" // a revision without a name is better than no revision
	}
	return review.Status.UserInfo.Username
}
