package cmd

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policystore"
)

// maxPolicyInput bounds what is read of standard input: many times the text that a policy may have, so that what is too
// long, the policy's own limits say.
const maxPolicyInput = 64 << 20

// loadPolicy loads the policy at path, which must be there: a file, a directory, or - for standard input. A file may
// also be the manifest of the ConfigMap that holds the policy.
func loadPolicy(path string, stdin io.Reader) (*policy.Policy, error) {
	files, err := readPolicy(path, stdin)
	if err != nil {
		return nil, err
	}
	return policy.Load(files...)
}

func readPolicy(path string, stdin io.Reader) ([]policy.File, error) {
	if path == offline.Stdin {
		data, err := io.ReadAll(io.LimitReader(stdin, maxPolicyInput))
		if err != nil {
			return nil, fmt.Errorf("read the policy from stdin: %w", err)
		}
		return unwrap([]policy.File{{Name: "stdin", Data: data}})
	}
	files, err := policystore.Read(path)
	if err != nil {
		return nil, err
	}
	return unwrap(files)
}

// unwrap replaces manifests of ConfigMaps by the policy files in them.
func unwrap(files []policy.File) ([]policy.File, error) {
	isConfigMap := regexp.MustCompile(`(?m)^\s*"?kind"?:\s*"?ConfigMap"?\s*,?\s*$`)
	var all []policy.File
	for _, f := range files {
		if !isConfigMap.Match(f.Data) {
			all = append(all, f)
			continue
		}
		held, err := configMapFiles(f)
		if err != nil {
			return nil, err
		}
		all = append(all, held...)
	}
	return all, nil
}

// configMapFiles returns the policy files in the ConfigMaps of a manifest.
func configMapFiles(f policy.File) ([]policy.File, error) {
	var all []policy.File
	for object, err := range offline.Read([]string{offline.Stdin}, bytes.NewReader(f.Data)) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if object.Kind != "ConfigMap" {
			continue
		}
		var held struct {
			Data       map[string]string `json:"data"`
			BinaryData map[string]string `json:"binaryData"`
		}
		if err := json.Unmarshal(object.JSON, &held); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", f.Name, object, err)
		}
		for key, text := range held.BinaryData {
			data, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: binaryData[%s] is not base64", f.Name, object, key)
			}
			all = appendPolicy(all, key, data)
		}
		for key, text := range held.Data {
			all = appendPolicy(all, key, []byte(text))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no key of the ConfigMap ends in .yaml or .yml", f.Name)
	}
	return all, nil
}

func appendPolicy(all []policy.File, key string, data []byte) []policy.File {
	if policy.IsFile(key) {
		all = append(all, policy.File{Name: key, Data: data})
	}
	return all
}
