// Package kit renders kustomize/ and the overlays of examples/ as kubectl does. Its tests hold them to what they
// promise: they render to what lies in testdata, they are made of types that Kubernetes and cert-manager have, a
// namespace is one field; and on a real API server they apply without a warning, match what they shall match and
// nothing else, and guard the opt-in label.
package kit

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Kit is kustomize/ and examples/overlays/ in memory, where overlays can be added that are in no repository.
type Kit struct {
	files    filesys.FileSystem
	overlays []string
}

// Read reads the kit of the repository at root.
func Read(root string) (*Kit, error) {
	k := &Kit{files: filesys.MakeFsInMemory()}
	for _, dir := range []string{"kustomize", "examples/overlays"} {
		if err := k.copy(os.DirFS(root), dir); err != nil {
			return nil, fmt.Errorf("read the kit: %w", err)
		}
	}
	for _, pattern := range []string{"kustomize/overlays/*", "examples/overlays/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, dir := range found {
			k.overlays = append(k.overlays, path.Join(path.Dir(pattern), filepath.Base(dir)))
		}
	}
	return k, nil
}

func (k *Kit) copy(from fs.FS, dir string) error {
	return fs.WalkDir(from, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return k.files.WriteFile("/"+name, data)
	})
}

// Overlays lists what is there to be applied, by its directory in the repository.
func (k *Kit) Overlays() []string { return slices.Clone(k.overlays) }

// Add puts an overlay into the kit; its kustomization names the others relative to dir.
func (k *Kit) Add(dir, kustomization string) error {
	return k.files.WriteFile(path.Join("/", dir, "kustomization.yaml"), []byte(kustomization))
}

// Render returns what kubectl apply -k would apply, in its order.
func (k *Kit) Render(dir string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as kubectl sets it: namespaces first, webhooks last
	m, err := krusty.MakeKustomizer(options).Run(k.files, path.Join("/", dir))
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", dir, err)
	}
	return m.AsYaml()
}
