package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/images"
	"github.com/evergate/evergate/offline/output"
)

// registryClient asks registries for images.
type registryClient struct {
	auth.Client
	plainHTTP bool
	platform  string // such as linux/arm64; may be empty
	timeout   time.Duration
	silent    sync.Map // registries that have not answered in time, and the error; their other images are not checked
}

func newImages(a *app) *cobra.Command {
	r := &registryClient{Client: auth.Client{Cache: auth.NewCache()}}
	var policy string
	c := &cobra.Command{
		Use:   "images --missing --policy POLICY FILE...",
		Short: "Show which images the mirrors do not have",
		Long: `Images --missing asks the mirrors of a policy for the images of the Pods and workloads in manifests, with the
credentials in your Docker configuration. It prints the missing images as exclude.images of their mirrors entries.

Exit code 1 means that an image is missing, malformed or denied, and 2 also that an image could not be checked.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			sources, err := a.readPolicy(c.Context(), policy)
			if err != nil {
				return err
			}
			o := offline.Options{Namespace: "default", Now: a.now()}
			if o.Policy, err = a.load(sources); err != nil {
				return err
			}
			return a.missing(c.Context(), r, images.New(o, offline.Read(files, a.stdin)))
		},
	}
	flags := c.Flags()
	flags.Bool("missing", false, "ask the mirrors; evergate images lists the images without asking")
	_ = c.MarkFlagRequired("missing") // fails only if there is no such flag
	flags.StringVarP(&policy, "policy", "p", "", "`file` or directory of the policy, or - (stdin)")
	flags.StringVar(&r.platform, "platform", "", "also require this `platform`, such as linux/arm64")
	flags.DurationVar(&r.timeout, "timeout", 30*time.Second, "maximum time for each image")
	flags.BoolVar(&r.plainHTTP, "plain-http", false, "call the mirrors without TLS")
	return c
}

// missing writes the images that the mirrors do not have.
func (a *app) missing(ctx context.Context, r *registryClient, list *images.List) error {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return err
	}
	r.Credential = credentials.Credential(store)
	answers := make([]error, len(list.Rows))
	var group errgroup.Group
	group.SetLimit(8) // few enough for the rate limit of a registry
	for i, row := range list.Rows {
		if row.Target != "" {
			group.Go(func() error {
				answers[i] = r.find(ctx, row.Target)
				return nil
			})
		}
	}
	_ = group.Wait()                 // the functions return nil
	missing := map[string][]string{} // by mirrors entry
	for i, row := range list.Rows {
		switch err := answers[i]; {
		case errors.Is(err, errdef.ErrNotFound):
			missing[row.Entry] = append(missing[row.Entry], row.Name)
			list.Problems = append(list.Problems, row.First+": "+row.Target+" is missing")
		case err != nil:
			list.Errors = append(list.Errors, row.First+": "+row.Target+" could not be checked: "+err.Error())
		}
	}
	var entries []map[string]any
	for _, entry := range slices.Sorted(maps.Keys(missing)) {
		entries = append(entries, map[string]any{"name": entry, "exclude": map[string]any{"images": missing[entry]}})
	}
	if len(entries) > 0 {
		if err := output.Encode(a.stdout, output.YAML, map[string]any{"mirrors": entries}); err != nil {
			return err
		}
	}
	return cli.Conclude(a.stderr, list.Errors, list.Problems)
}

// find returns nil if a registry has an image, ErrNotFound if it does not, and otherwise why this is unknown. The error
// has neither URLs, which can contain tokens, nor values from the Docker configuration.
func (r *registryClient) find(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	repo, err := remote.NewRepository(image)
	if err != nil {
		return errors.New("the registry client does not support this name")
	}
	repo.Client, repo.PlainHTTP = r, r.plainHTTP
	if why, silent := r.silent.Load(repo.Reference.Registry); silent {
		return why.(error)
	}
	found, err := repo.Resolve(ctx, repo.Reference.ReferenceOrDefault())
	if errors.Is(err, errdef.ErrNotFound) {
		return errdef.ErrNotFound
	}
	if part := append(strings.Split(r.platform, "/"), "", ""); err == nil && r.platform != "" {
		_, err = oras.Resolve(ctx, repo, found.Digest.String(), oras.ResolveOptions{
			TargetPlatform: &ocispec.Platform{OS: part[0], Architecture: part[1], Variant: part[2]},
		})
	}
	switch response, ok := errors.AsType[*errcode.ErrorResponse](err); {
	case err == nil:
		return nil
	case ok:
		return fmt.Errorf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	case errors.Is(err, context.DeadlineExceeded):
		why, _ := r.silent.LoadOrStore(repo.Reference.Registry, errors.New("no answer within "+r.timeout.String()))
		return why.(error)
	case errors.Is(err, errdef.ErrNotFound):
		return errors.New("it does not have the platform " + r.platform)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return errors.New("401 Unauthorized, and no login in the Docker configuration")
	}
	if failure, ok := errors.AsType[*url.Error](err); ok {
		return failure.Err
	}
	return errors.New("the answer, or the login in the Docker configuration, is not valid")
}
