// Package crds reads CRDs of other projects out of their Go modules: two megabytes of them, which are in no repository
// of ours. Modules that want a newer Go than this one can be downloaded all the same, and nothing of them is compiled.
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

// Source is CRDs in a Go module.
type Source struct {
	module string // with its version
	files  string // a pattern of path.Match, within the module
	sum    string // SHA-256 of the files, one after the other in the order of their names
}

const gatewayAPI = "sigs.k8s.io/gateway-api@v1.7.0"

// HostKinds are the CRDs of the kinds that name hosts, beside those of cert-manager.
//
// The standard channel of Gateway API has also an admission policy, vap_safeupgrades, against CRDs of older bundles:
// left out. XListenerSet is of the last bundle that has it. The Route of OpenShift is in no module that can be
// downloaded.
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

// HTTPRoutes is the CRD of HTTPRoutes alone.
func HTTPRoutes() Source {
	return Source{gatewayAPI, "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
		"ac4c1e0ad475793728a3c599cdac602cc658a633787a2fa568339e98aae93674"}
}

// Read returns the files as one stream of YAML, and an error if they are others than were pinned.
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

// download returns the zip of the module in the module cache.
func (s Source) download(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "crds-")
	if err != nil {
		return "", fmt.Errorf("download %s: %w", s.module, err)
	}
	defer os.RemoveAll(dir)
	var failed error
	for range 3 { // one failed download would end a run of half an hour
		cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", s.module)
		cmd.Dir = dir // of no module
		out, err := cmd.Output()
		var module struct{ Zip, Error string }
		if json.Unmarshal(out, &module) == nil && module.Zip != "" {
			return module.Zip, nil // whatever is in Error: that it wants a newer Go
		}
		failed = errors.Join(err, errors.New(module.Error))
	}
	return "", fmt.Errorf("download %s: %w", s.module, failed)
}
