// Package crds reads the CRDs of other projects from their Go modules, because these two megabytes are not copied into
// this repository. Modules that need a newer version of Go can still be downloaded, because none of their code is
// compiled.
package crds

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// Source identifies CRDs in a Go module.
type Source struct {
	module string // with its version
	files  string // pattern of path.Match within the module
	sum    string // SHA-256 of the files, concatenated in the order of their names
}

const gatewayAPI = "sigs.k8s.io/gateway-api@v1.7.0"

// HostKinds returns the CRDs of the kinds that contain host names, except cert-manager's.
//
// The standard channel of Gateway API also contains an admission policy against CRDs of older bundles,
// vap_safeupgrades, which is left out. XListenerSet is from the last bundle that contains it. The OpenShift Route is
// not in any module that can be downloaded.
func HostKinds() []Source {
	return []Source{
		{gatewayAPI, "config/crd/standard/gateway.networking.k8s.io_[^v]*.yaml",
			"6c5f5f800de2fc251da75e6a630cfd6d0d7f69b11626fb51bb68fc3d19f02bd2"},
		{"sigs.k8s.io/gateway-api@v1.4.1", "config/crd/experimental/*_xlistenersets.yaml",
			"7401cb071ed1719124676ee68916606f66b7439622ef7c56b2be5a1869ad5c78"},
		{gatewayAPI, "config/crd/experimental/*_xbackends.yaml",
			"fba1b3c011ee80f3a0e63e0386f8799862cd70ce5c2327b70b6f555b6f9b786a"},
		{"sigs.k8s.io/external-dns@v0.23.0", "config/crd/standard/dnsendpoints.*.yaml",
			"7d1c06b1e991c8db3a70be658fb628e61e71ba72f2686469c276f4f6ab0d1e30"},
	}
}

// HTTPRoutes returns only the CRD of HTTPRoutes.
func HTTPRoutes() Source {
	return Source{gatewayAPI, "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
		"ac4c1e0ad475793728a3c599cdac602cc658a633787a2fa568339e98aae93674"}
}

// Read returns the files as one YAML stream, and an error if their checksum is different.
func (s Source) Read(ctx context.Context) ([]byte, error) {
	file, err := s.download(ctx)
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.module, err)
	}
	defer func() { _ = archive.Close() }() // it was only read
	slices.SortFunc(archive.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	var stream bytes.Buffer
	sum := sha256.New()
	for _, f := range archive.File {
		matched, err := path.Match(s.files, strings.TrimPrefix(f.Name, s.module+"/"))
		if err != nil {
			return nil, fmt.Errorf("files of %s: %w", s.module, err)
		}
		if !matched {
			continue
		}
		if err := extract(f, io.MultiWriter(&stream, sum)); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", f.Name, s.module, err)
		}
		stream.WriteString("\n---\n")
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != s.sum {
		return nil, fmt.Errorf("the CRDs %s of %s have the sum %s, want %s", s.files, s.module, got, s.sum)
	}
	return stream.Bytes(), nil
}

func extract(f *zip.File, to io.Writer) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(to, r)
	return err
}

// download returns the path of the module's zip file in the module cache.
func (s Source) download(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "crds-")
	if err != nil {
		return "", fmt.Errorf("download %s: %w", s.module, err)
	}
	defer os.RemoveAll(dir)
	var failed error
	for range 3 { // one failed download would end a run of half an hour
		cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", s.module)
		cmd.Dir = dir // outside any module
		out, err := cmd.Output()
		var module struct{ Zip, Error string }
		if json.Unmarshal(out, &module) == nil && module.Zip != "" {
			return module.Zip, nil // ignore Error, which reports that the module needs a newer Go
		}
		failed = errors.Join(err, errors.New(module.Error))
	}
	return "", fmt.Errorf("download %s: %w", s.module, failed)
}
