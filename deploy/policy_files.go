package deploy

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/policy"
)

// policy returns the policy. ok is false if the input does not have it, if it fails to load, or if it has no entries,
// which the check policy-missing reports.
func (c *cluster) policy() (p *policy.Policy, ok bool) {
	files := c.policyFiles()
	if len(files) == 0 {
		return nil, false
	}
	p, err := policy.Load(files...)
	return p, err == nil && !p.Emptied()
}

// policyDocument returns the text of the policy. ok is false if the input does not have the policy: see policy.
func (c *cluster) policyDocument() (doc policy.Document, ok bool) {
	if _, ok = c.policy(); !ok {
		return doc, false
	}
	doc, err := policy.Describe(c.policyFiles()...)
	return doc, err == nil
}

// policyFiles returns the policy files that the Pods use. If there are several Deployments, it is the policy of
// the Deployment to keep. In an installation with only native policies, it is the policy in the manifests.
func (c *cluster) policyFiles() []policy.File {
	if len(c.servers) > 0 {
		return c.policyFilesOf(c.kept())
	}
	if cm := c.policyMap(); c.native && cm != nil {
		return filesOf(cm)
	}
	return nil
}

// policyFilesOf returns the policy files in the ConfigMaps that --policy of a server is in.
func (c *cluster) policyFilesOf(s *server) []policy.File {
	var files []policy.File
	for _, name := range s.policyConfigMaps() {
		if cm := find(c.configMaps, s.Namespace, name); cm != nil {
			files = append(files, filesOf(cm)...)
		}
	}
	return files
}

// filesOf returns the keys of a ConfigMap that are policy files.
func filesOf(cm *corev1.ConfigMap) []policy.File {
	var files []policy.File
	for key, data := range cm.Data {
		if policy.IsFile(key) {
			files = append(files, policy.File{Name: key, Data: []byte(data)})
		}
	}
	for key, data := range cm.BinaryData {
		if policy.IsFile(key) {
			files = append(files, policy.File{Name: key, Data: data})
		}
	}
	return files
}
