// Package kit renders the manifests in kustomize/ and the overlays in examples/ like kubectl. Its tests check that they
// render to the files in testdata, that they consist of types of Kubernetes and cert-manager, and that a namespace is a
// single field. On a real API server, they check that the manifests apply without a warning, match exactly the intended
// objects, and protect the opt-in label.
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

// Kit contains kustomize/ and examples/overlays/ in memory, to which overlays can be added.
type Kit struct {
	files    filesys.FileSystem
	overlays []string
}

// Read reads the manifests of the repository at root.
func Read(root string) (*Kit, error) {
	k := &Kit{files: filesys.MakeFsInMemory()}
	for _, dir := range []string{"kustomize", "examples/overlays"} {
		if err := k.copy(os.DirFS(root), dir); err != nil {
			return nil, fmt.Errorf("read the manifests: %w", err)
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

// Overlays returns the directories of the overlays in the repository.
func (k *Kit) Overlays() []string { return slices.Clone(k.overlays) }

// Add adds an overlay. Paths in its kustomization are relative to dir.
func (k *Kit) Add(dir, kustomization string) error {
	return k.files.WriteFile(path.Join("/", dir, "kustomization.yaml"), []byte(kustomization))
}

// Render returns the objects that kubectl apply -k would apply, in its order.
func (k *Kit) Render(dir string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as in kubectl: namespaces first, webhooks last
	m, err := krusty.MakeKustomizer(options).Run(k.files, path.Join("/", dir))
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", dir, err)
	}
	return m.AsYaml()
}
