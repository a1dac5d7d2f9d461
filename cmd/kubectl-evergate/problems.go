package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/internal/text"
)

// soon is the time before the expiry of a certificate at which it is a problem. With the base manifests, cert-manager
// renews certificates 30 days before they expire, so at that time the renewal has failed for three weeks.
const soon = 7 * 24 * time.Hour

// wrong adds a problem.
func (s *status) wrong(format string, args ...any) {
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

func (s *status) findProblems() {
	switch none := len(s.Replicas) == 0 && s.listed && !s.nativeOnly(); {
	case none && len(s.servers) > 0:
		s.wrong("there are no replicas in %s, but the Deployment %s runs evergate serve", s.Namespace, text.List(s.servers))
	case none:
		s.wrong("there are no replicas")
	}
	if s.Native.Policies > 0 && s.missing {
		s.wrong("there is no ConfigMap %s in %s, which contains the policy of the backstop", s.Policy.ConfigMap, s.Namespace)
	}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if !r.Ready {
			s.wrong("%s is not ready", r.Name)
		}
		switch {
		case r.Error != "":
			s.wrong("%s does not answer: %s", r.Name, text.Printable(r.Error, maxError))
		case r.Stale && r.failure != "":
			s.wrong("%s cannot load its policy file: %s", r.Name, text.Printable(r.failure, maxError))
		case s.Policy.Hash != "" && r.Policy != s.Policy.Hash:
			s.wrong("the policy of %s differs from the ConfigMap %s", r.Name, s.Policy.ConfigMap)
		}
		if !r.NotAfter.IsZero() && r.NotAfter.Sub(s.now) < soon {
			s.wrong("the certificate of %s expires %s", r.Name, s.until(r.NotAfter))
		}
	}
	if s.Policy.Hash != "" && s.Native.Policies > 0 && !slices.Equal(s.Native.Of, []string{s.Policy.Hash}) {
		s.wrong("the backstop enforces another policy than the one in the ConfigMap %s: renew it with kubectl evergate "+
			"apply or evergate export", s.Policy.ConfigMap)
	}
	if s.Policy.Hash != "" && s.Native.Files != "" && s.Native.Files != s.Policy.Hash {
		s.wrong("files of the API server enforce another policy than the one in the ConfigMap %s: write them again with "+
			"evergate export --target static", s.Policy.ConfigMap)
	}
	s.checkPlacement()
	s.checkCAs()
	switch none := len(s.Webhooks) == 0 && s.hooksRead && !s.nativeOnly(); {
	case none && len(s.elsewhere) > 0:
		s.wrong("the webhooks of Evergate call Services in %s and not in %s: set the namespace of Evergate with "+
			"--evergate-namespace", text.List(s.elsewhere), s.Namespace)
	case none:
		s.wrong("there are no webhooks of Evergate that call a URL or a Service in %s", s.Namespace)
	}
}

// nativeOnly reports whether the cluster has native policies and their policy, and neither webhooks nor replicas nor a
// Deployment for replicas.
func (s *status) nativeOnly() bool {
	absent := s.hooksRead && len(s.Webhooks)+len(s.elsewhere) == 0 && s.listed && len(s.Replicas) == 0 &&
		s.serversRead && len(s.servers) == 0
	return absent && s.Native.Policies > 0 && s.found
}

// checkPlacement finds replicas that all run on one node or in one zone, although other nodes accept Pods.
func (s *status) checkPlacement() {
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		all, used := map[string]bool{}, map[string]bool{}
		for i := range s.nodes {
			n := &s.nodes[i]
			value, labelled := n.Labels[key]
			if labelled && !n.Spec.Unschedulable && len(n.Spec.Taints) == 0 {
				all[value] = true
			}
			if slices.ContainsFunc(s.Replicas, func(r replica) bool { return r.Node == n.Name }) {
				used[value] = true
			}
		}
		if len(s.Replicas) > 1 && len(used) == 1 && len(all) > 1 {
			s.wrong("all replicas run on nodes with %s=%s, so none is left if these nodes fail", key,
				slices.Collect(maps.Keys(used))[0])
			return // a node is in one zone
		}
	}
}

// checkCAs finds webhooks without a CA, and webhooks whose CA expires soon. It reports each of the two in one
// sentence, because webhooks usually share the CA.
func (s *status) checkCAs() {
	var without, ending []string
	first := s.now.Add(soon)
	for i := range s.Webhooks {
		h := &s.Webhooks[i]
		switch end := h.CANotAfter; {
		case end.IsZero() && h.URL != "": // a CA that the API server trusts by default may have signed the certificate
		case end.IsZero():
			without = append(without, h.Name)
		case end.Sub(s.now) < soon:
			ending = append(ending, h.Name)
			if end.Before(first) {
				first = end
			}
		}
	}
	if len(without) > 0 {
		s.wrong("webhooks without a CA, so each call fails: %s", text.List(without))
	}
	if len(ending) > 0 {
		s.wrong("the CA expires %s, for the webhooks %s", s.until(first), text.List(ending))
	}
}
