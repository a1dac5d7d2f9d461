package deploy

import (
	"maps"
	"path"
	"slices"
	"strings"

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

// policyFilesOf returns the policy files that a server loads from the ConfigMaps of --policy.
func (c *cluster) policyFilesOf(s *server) []policy.File {
	v, mount := s.volumeAt(s.settings.Policy)
	if v == nil {
		return nil
	}
	var files []policy.File
	for _, mounted := range s.policyConfigMaps() {
		if cm := find(c.configMaps, s.Namespace, mounted.Name); cm != nil {
			files = append(files, volumeFiles(cm, mounted.Items)...)
		}
	}
	return loadedFrom(s.inVolume(s.settings.Policy, mount), files)
}

// filesOf returns the policy files of a ConfigMap that is mounted as a directory.
func filesOf(cm *corev1.ConfigMap) []policy.File { return loadedFrom("", volumeFiles(cm, nil)) }

// loadedFrom returns the files that evergate serve loads if --policy is a path in a volume with these files. If the
// path is a directory, these are the policy files directly in it, except files whose names begin with a dot. The
// names of the returned files do not include the directory.
func loadedFrom(at string, files []policy.File) []policy.File {
	var loaded []policy.File
	for _, f := range files {
		dir, name := path.Split(f.Name)
		inDir := strings.TrimSuffix(dir, "/") == at && policy.IsFile(name) && !strings.HasPrefix(name, ".")
		if inDir || f.Name == at {
			loaded = append(loaded, policy.File{Name: name, Data: f.Data})
		}
	}
	return loaded
}

// volumeFiles returns the files in a volume with a ConfigMap. The name of a file is its path in the volume. A volume
// with items contains only these keys, each under its path.
func volumeFiles(cm *corev1.ConfigMap, items []corev1.KeyToPath) []policy.File {
	if len(items) == 0 {
		for _, key := range keysOf(cm) {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	var files []policy.File
	for _, item := range items {
		data, ok := cm.BinaryData[item.Key]
		if text, isText := cm.Data[item.Key]; isText {
			data, ok = []byte(text), true
		}
		if ok {
			files = append(files, policy.File{Name: path.Clean(item.Path), Data: data})
		}
	}
	return files
}

// keysOf lists the keys of a ConfigMap.
func keysOf(cm *corev1.ConfigMap) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(cm.Data)), maps.Keys(cm.BinaryData))
	slices.Sort(keys)
	return keys
}
