package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// pullSecret is the field imagePullSecret of a mirrors entry: the name of a Secret with which the nodes log in to the
// mirror. Where a Pod is created with an image that the entry rewrites, its spec.imagePullSecrets gets that name,
// unless it is there. The Secret itself is in the namespace of the Pod, where the platform puts it: none is copied.
type pullSecret string

// UnmarshalText refuses what cannot be the name of a Secret (a DNS-1123 subdomain).
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

// PullSecrets are the names that the mirrors of the rewritten images need in spec.imagePullSecrets and that are not
// there, in the order of the images.
type PullSecrets struct {
	// Added are those that the patch adds: to a Pod that is created.
	Added []string
	// Missing are those that cannot be added, since the API server refuses every update of a Pod that changes the field.
	Missing []string
}

// pullSecretsOf returns what a Pod lacks for its images.
func pullSecretsOf(a Attributes, pod *Pod, images []ImageOutcome) PullSecrets {
	var lacking []string
	var there map[string]bool // made where an image needs a name: a Pod may reference thousands
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
	if a.Operation == Create && a.Subresource == "" {
		return PullSecrets{Added: lacking}
	}
	return PullSecrets{Missing: lacking}
}

// PullSecrets returns the names, each once and in order, that Pods of a namespace may get: those of the mirrors entries
// in mode enforce that may look at them.
func (p *Policy) PullSecrets(namespace string) []string {
	var names []string
	for i := range p.mirrors.mirrors {
		m := &p.mirrors.mirrors[i]
		switch {
		case m.pullSecret == "" || m.Mode != Enforce:
		case m.Match != nil && m.Match.Namespaces != nil && !matchesAny(m.Match.Namespaces, namespace):
		case m.Exclude != nil && m.exempt == nil && matchesAny(m.Exclude.Namespaces, namespace):
		default:
			names = append(names, m.pullSecret)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
