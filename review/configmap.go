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

// ConfigMap is one that may hold a policy.
type ConfigMap struct {
	Files []policy.File // its keys that are policy files, in the order of their names
}

// ConfigMaps are v1 ConfigMaps. Of an old one, which decides nothing, only its presence is read. One that is larger
// than a policy may be is a ContentError.
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
		case "binaryData": // where kubectl create configmap puts files that are not UTF-8
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

// policyFiles are the keys of a ConfigMap that are policy files.
type policyFiles struct {
	limits policy.Limits
	list   []policy.File
	names  map[string]bool
	bytes  int
}

// maxKey is how long a key of a ConfigMap can be.
const maxKey = 253

// read reads a map of which each policy file is decoded. Its other keys are skipped.
func (files *policyFiles) read(r *jsonscan.Reader, decode func(string) []byte) {
	if r.Null() {
		return
	}
	for name := range r.Members {
		if !policy.IsFile(string(name[max(0, len(name)-8):])) { // as much as decides
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
			r.Reject("stands twice")
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
