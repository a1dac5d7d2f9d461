package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
)

// Media types of the OCI image specification.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// File is a file in the root directory of an image. Everyone may read and execute it.
type File struct {
	Name string
	Data []byte
}

// descriptor describes a blob, as in the specification.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// Push creates an image with one layer of files for this machine's architecture and pushes it to REPOSITORY:TAG. It
// returns the digest of the manifest, which the kubelet uses as the image ID of a container. command is the entry
// point.
func (r *Registry) Push(ctx context.Context, repository, tag string, command []string, files ...File) (string, error) {
	archive, layer, err := pack(files)
	if err != nil {
		return "", err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": runtime.GOOS, "config": map[string]any{"Entrypoint": command},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(archive)}},
	})
	if err != nil {
		return "", err
	}
	blobs := []descriptor{{configType, digest(config), len(config)}, {layerType, digest(layer), len(layer)}}
	for i, data := range [][]byte{config, layer} {
		if err := r.upload(ctx, repository, blobs[i].Digest, data); err != nil {
			return "", fmt.Errorf("push a blob to %s: %w", repository, err)
		}
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": blobs[0], "layers": blobs[1:],
	})
	if err != nil {
		return "", err
	}
	_, err = r.do(ctx, http.MethodPut, r.url(repository, "manifests/"+tag), manifestType, manifest, http.StatusCreated)
	if err != nil {
		return "", fmt.Errorf("push the manifest of %s:%s: %w", repository, tag, err)
	}
	return digest(manifest), nil
}

// upload stores a blob. A POST opens an upload, and a PUT to its Location sends the whole blob.
func (r *Registry) upload(ctx context.Context, repository, digest string, data []byte) error {
	header, err := r.do(ctx, http.MethodPost, r.url(repository, "blobs/uploads/"), "", nil, http.StatusAccepted)
	if err != nil {
		return err
	}
	to, err := url.Parse(header.Get("Location"))
	if err != nil {
		return err
	}
	query := to.Query() // it contains the ID of the upload
	query.Set("digest", digest)
	to.RawQuery = query.Encode()
	_, err = r.do(ctx, http.MethodPut, to.String(), "application/octet-stream", data, http.StatusCreated)
	return err
}

func (r *Registry) url(repository, rest string) string {
	return (&url.URL{Scheme: "https", Host: r.Host, Path: "/v2/" + repository + "/" + rest}).String()
}

// do sends a request as the user and returns the header of the response. It returns an error if the status is not want.
func (r *Registry) do(ctx context.Context, method, to, kind string, body []byte, want int) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(r.User, r.Password)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // responses to pushes are short
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		return nil, fmt.Errorf("%s: got %s, want %d: %s", method, resp.Status, want, said)
	}
	return resp.Header, nil
}

// pack returns the files as an archive, and the compressed archive.
func pack(files []File) (archive, layer []byte, err error) {
	var plain, compressed bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, f := range files {
		header := &tar.Header{Name: f.Name, Mode: 0o555, Size: int64(len(f.Data)), Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	z := gzip.NewWriter(&compressed)
	if _, err := z.Write(plain.Bytes()); err != nil {
		return nil, nil, err
	}
	if err := z.Close(); err != nil {
		return nil, nil, err
	}
	return plain.Bytes(), compressed.Bytes(), nil
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
