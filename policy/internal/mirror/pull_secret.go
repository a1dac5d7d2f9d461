package mirror

import (
	"errors"
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// pullSecret is the imagePullSecret field of a mirrors entry. It is the name of a Secret with which nodes log in to the
// mirror. If a Pod is created with an image that the entry rewrites, the name is added to spec.imagePullSecrets unless
// the list already contains it. Evergate does not copy the Secret. The platform team creates it in the namespace of the
// Pod.
type pullSecret string

// UnmarshalText rejects a text that cannot be the name of a Secret (a DNS-1123 subdomain).
func (s *pullSecret) UnmarshalText(b []byte) error {
	name := string(b)
	err := match.CheckHostName(name)
	if err == nil && name != match.LowerASCII(name) {
		err = errors.New("it has an upper-case letter")
	}
	if err != nil {
		return fmt.Errorf("%s cannot be the name of a Secret: %w", text.Quote(name), err)
	}
	*s = pullSecret(name)
	return nil
}

// PullSecrets contains the names of Secrets that a Pod needs for the mirrors of its rewritten images, but that are
// missing in spec.imagePullSecrets. They are in the order of the images.
type PullSecrets struct {
	// Added lists the names that the patch adds. Only a Pod that is being created gets them.
	Added []string
	// Missing lists the names that the patch cannot add, because the API server rejects every update that changes this
	// field of a Pod.
	Missing []string
}

// PullSecretsOf returns the names that a Pod lacks for its images.
func PullSecretsOf(a object.Attributes, pod *object.Pod, images []ImageOutcome) PullSecrets {
	var lacking []string
	var there map[string]bool // made only if an image needs a name, because a Pod may reference thousands
	for i := range images {
		name := images[i].PullSecret
		if name == "" || images[i].Outcome != Rewritten {
			continue
		}
		if there == nil {
			there = make(map[string]bool, len(pod.ImagePullSecrets))
			for _, s := range pod.ImagePullSecrets {
				there[s] = true
			}
		}
		if !there[name] {
			there[name] = true
			lacking = append(lacking, name)
		}
	}
	if a.Operation == object.Create && a.Subresource == "" {
		return PullSecrets{Added: lacking}
	}
	return PullSecrets{Missing: lacking}
}

// PullSecrets returns the names of Secrets that may be added to Pods in a namespace, sorted and each once. They are the
// names in the entries in mode enforce that can apply to Pods in this namespace.
func (t *Table) PullSecrets(namespace string) []string {
	var names []string
	for i := range t.mirrors {
		m := &t.mirrors[i]
		exclude := m.PermanentExclude()
		switch {
		case m.pullSecret == "" || m.Mode != rule.Enforce:
		case m.Match != nil && m.Match.Namespaces != nil && !match.AnyGlob(m.Match.Namespaces, namespace):
		case exclude != nil && match.AnyGlob(exclude.Namespaces, namespace):
		default:
			names = append(names, m.pullSecret)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
