package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/evergate/evergate/review/reviewtest/costliest"
)

// rig contains the files that servers need: binaries, policies and a certificate, in a temporary directory.
type rig struct {
	dir         string
	certificate *certificate
}

func newRig(ctx context.Context, binaries map[string]string) (*rig, error) {
	dir, err := os.MkdirTemp("", "evergate-bench-")
	if err != nil {
		return nil, err
	}
	r := &rig{dir: dir}
	if r.certificate, err = newCertificate(dir); err != nil {
		return nil, err
	}
	for name, pkg := range binaries {
		// The flags are the same as in make build and the Dockerfile.
		c := exec.CommandContext(ctx, "go", "build", "-C", pkg, "-trimpath",
			"-tags", "grpcnotrace,nethttpomithttp2", "-ldflags", "-s -w", "-o",
			r.path(name), ".")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	for name, text := range map[string]string{
		"example.yaml": examplePolicy(), "many.yaml": manyPolicy(), "owned.yaml": ownedPolicy(),
		"one.yaml": costliest.One(), "ten.yaml": costliest.Ten(), "regexes.yaml": regexPolicy(),
	} {
		if err := os.WriteFile(r.path(name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *rig) remove() { _ = os.RemoveAll(r.dir) }

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) client() *http.Client { return newClient(r.certificate.roots) }

// servers starts a server for each name: the floor, the peer, or evergate with the policy of this name. stop stops the
// servers.
func (r *rig) servers(ctx context.Context, names ...string) (all map[string]*server, stop func(), err error) {
	all = map[string]*server{}
	stop = func() {
		for _, s := range all {
			s.stop()
		}
	}
	for _, name := range names {
		s, err := r.server(ctx, name)
		if err != nil {
			stop()
			return nil, nil, err
		}
		all[name] = s
	}
	return all, stop, nil
}

func (r *rig) server(ctx context.Context, name string) (*server, error) {
	if name != "floor" && name != "peer" {
		return r.evergate(ctx, name)
	}
	s, err := start(ctx, name, r.path(name), "--tls-cert", r.certificate.cert, "--tls-key", r.certificate.key)
	if s != nil {
		s.floor = true
	}
	return s, err
}

// evergate starts evergate with a policy: example, many, owned, one or ten. All other settings have their
// default values.
func (r *rig) evergate(ctx context.Context, policy string) (*server, error) {
	return start(ctx, "evergate, "+policy+" policy", r.path("evergate"), "serve",
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log-format", "json",
		"--tls-cert", r.certificate.cert, "--tls-key", r.certificate.key, "--policy", r.path(policy+".yaml"))
}

// machine describes the machine of the measurement.
func machine() string {
	model := "unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		model = cpuModel(string(data))
	}
	return fmt.Sprintf("%s, %s/%s, %s, %d cores", runtime.Version(), runtime.GOOS, runtime.GOARCH, model, runtime.NumCPU())
}
