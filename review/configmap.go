package review

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy"
)

// ConfigMap is a ConfigMap that may contain a policy.
type ConfigMap struct {
	Files []policy.File // the keys that are policy files, in the order of their names
}

// ConfigMaps returns the kind ConfigMap of v1. An old ConfigMap does not affect the decision, so only its presence is
// read. A ConfigMap that is larger than a policy may be causes a ContentError.
func ConfigMaps() Objects[ConfigMap] {
	skip := func(r *jsonscan.Reader, _ *ConfigMap) { r.Present() }
	kinds := []Kind{{"ConfigMap", Resource{"", "v1", "configmaps"}, nil}}
	return Objects[ConfigMap]{kinds, readConfigMap, skip, nil, false}
}

func readConfigMap(r *jsonscan.Reader, m *ConfigMap) {
	files := policyFiles{limits: policy.ReviewLimits(), names: map[string]bool{}}
	for name := range r.Fields {
		switch string(name) {
		case "data":
			files.read(r, func(text string) []byte { return []byte(text) })
		case "binaryData": // kubectl create configmap stores files here that are not UTF-8
			files.read(r, func(text string) []byte {
				data, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					r.Reject("is not base64")
				}
				return data
			})
		}
	}
	m.Files = files.list
	slices.SortFunc(m.Files, func(a, b policy.File) int { return cmp.Compare(a.Name, b.Name) })
}

// policyFiles contains the keys of a ConfigMap that are policy files.
type policyFiles struct {
	limits policy.Limits
	list   []policy.File
	names  map[string]bool
	bytes  int
}

// maxKey is the maximum length of a key in a ConfigMap.
const maxKey = 253

// read reads a map and decodes the policy files in it. It skips other keys.
func (files *policyFiles) read(r *jsonscan.Reader, decode func(string) []byte) {
	if r.Null() {
		return
	}
	for name := range r.Members {
		if !policy.IsFile(string(name[max(0, len(name)-8):])) { // long enough to find the file extension
			continue
		}
		file := policy.File{Name: r.Text(name[:min(len(name), maxKey+1)])}
		file.Data = decode(r.String())
		files.bytes += len(file.Data)
		switch {
		case r.Err() != nil:
		case strings.ContainsFunc(file.Name, notOfKey) || len(file.Name) > maxKey:
			r.Reject("is not the name of a key: at most 253 letters, digits, dots, hyphens and underscores")
		case files.names[file.Name]:
			r.Reject("duplicate key")
		case len(files.list) == files.limits.Files:
			r.Reject(fmt.Sprintf("the policy has more than %d files, which is the limit", files.limits.Files))
		case files.bytes > files.limits.Bytes:
			r.Reject(fmt.Sprintf("the policy has more than %d MiB of text, which is the limit", files.limits.Bytes>>20))
		}
		if r.Err() != nil {
			return
		}
		files.names[file.Name] = true
		files.list = append(files.list, file)
	}
}

func notOfKey(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
}
