package main

import "time"

// statusReport is the status for programs. Its JSON is an interface. Unknown fields are left out.
type statusReport struct {
	Namespace string `json:"namespace"`
	Policy    struct {
		ConfigMap string    `json:"configMap"`
		Hash      string    `json:"hash,omitempty"` // of a policy that loads
		Applied   time.Time `json:"applied,omitzero"`
		By        string    `json:"by,omitempty"` // the field manager
	} `json:"policy"`
	Replicas []replicaReport `json:"replicas"`
	Webhooks []webhookReport `json:"webhooks"`
	Native   struct {
		Policies int      `json:"policies"`
		Of       []string `json:"of,omitempty"`    // the hashes of the policies from which they were exported
		Files    string   `json:"files,omitempty"` // the hash in files of the API server
	} `json:"native"`
	Namespaces *int     `json:"namespaces,omitempty"` // in the cluster
	Matched    []string `json:"matched,omitempty"`    // namespaces that a webhook matches
	NotRead    []string `json:"notRead,omitempty"`
	Problems   []string `json:"problems"`

	*status `json:"-"`
}

// replicaReport is the state of a replica.
type replicaReport struct {
	Name     string    `json:"name"`
	Node     string    `json:"node,omitempty"`
	Ready    bool      `json:"ready"`
	Version  string    `json:"version,omitempty"`
	Policy   string    `json:"policy,omitempty"` // its hash
	Since    time.Time `json:"since,omitzero"`
	Stale    bool      `json:"stale,omitempty"`   // it could not load a newer policy
	NotAfter time.Time `json:"notAfter,omitzero"` // of its certificate
	Error    string    `json:"error,omitempty"`   // the reason if it does not answer
}

// webhookReport is the configuration of a webhook and its counts.
type webhookReport struct {
	Name          string    `json:"name"`
	FailurePolicy string    `json:"failurePolicy"`
	URL           string    `json:"url,omitempty"`        // if it calls a URL instead of a Service
	CANotAfter    time.Time `json:"caNotAfter,omitzero"`  // the latest expiry of its CAs
	Namespaces    *int      `json:"namespaces,omitempty"` // that it matches
	FailedOpen    *int      `json:"failedOpen,omitempty"` // calls since the API server started
}

// report returns the status for programs.
func (s *status) report() *statusReport {
	r := &statusReport{
		Namespace: s.namespace, Replicas: []replicaReport{}, Webhooks: []webhookReport{},
		Matched: s.matched, NotRead: s.unread, Problems: append([]string{}, s.problems...),
		status: s,
	}
	r.Policy.ConfigMap, r.Policy.By, r.Policy.Applied = s.configMap, s.applied, s.appliedAt.UTC()
	if s.policy != nil {
		r.Policy.Hash = s.policy.Hash()
	}
	r.Native.Policies, r.Native.Of, r.Native.Files = s.native, s.nativeOf, s.filesOf
	if s.namespaces >= 0 {
		r.Namespaces = &s.namespaces
	}
	for i := range s.replicas {
		of := &s.replicas[i]
		replica := replicaReport{
			Name: of.Name(), Node: of.Pod.Spec.NodeName, Ready: of.Ready(), Version: of.Version, Policy: of.Policy.Hash,
			Since: of.Policy.Since.UTC(), Stale: of.Policy.Stale, NotAfter: of.NotAfter.UTC(),
		}
		if of.Err != nil {
			replica.Error = of.Err.Error()
		}
		r.Replicas = append(r.Replicas, replica)
	}
	for i := range s.hooks {
		h := &s.hooks[i]
		webhook := webhookReport{
			Name: h.name, FailurePolicy: string(h.policy), URL: h.url, CANotAfter: lastEnd(h.ca).UTC(),
		}
		if s.namespaces >= 0 {
			webhook.Namespaces = &h.matches
		}
		if s.failedOpen != nil {
			failed := s.failedOpen[h.name]
			webhook.FailedOpen = &failed
		}
		r.Webhooks = append(r.Webhooks, webhook)
	}
	return r
}
