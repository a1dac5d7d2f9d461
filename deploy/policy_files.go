package deploy

import "github.com/evergate/evergate/policy"

// policy returns the policy that the Pods are given; ok is false when the input does not have it, or it is no policy.
func (c *cluster) policy() (p *policy.Policy, ok bool) {
	files := c.policyFiles()
	if len(files) == 0 {
		return nil, false
	}
	p, err := policy.Load(files...)
	return p, err == nil
}

// policyFiles returns the keys of the ConfigMaps that --policy lies in.
func (c *cluster) policyFiles() []policy.File {
	var files []policy.File
	for _, s := range c.servers {
		for _, name := range s.policyConfigMaps() {
			if cm := find(c.configMaps, s.Namespace, name); cm != nil {
				for key, data := range cm.Data {
					if policy.IsFile(key) {
						files = append(files, policy.File{Name: key, Data: []byte(data)})
					}
				}
			}
		}
	}
	return files
}
