package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/review"
)

// pageSize is the number of objects per page, as in kubectl. Objects in a page are read one at a time, but the API
// server has the whole page in memory.
const pageSize = "500"

// maxDiscovery limits the list of resources of one version of an API group, in bytes. The list for v1 has 12 KiB.
const maxDiscovery = 4 << 20

// Objects returns the objects of every kind that Evergate validates, in all namespaces. If workloads is true, it
// includes Deployments, Jobs and other workloads. An audit does not need workloads because it validates their running
// Pods, but a plan also validates their templates. A kind that the API server does not serve yields an
// *offline.NotServedError. If a kind cannot be listed, Objects yields an error and continues with the next kind.
func (c *Client) Objects(ctx context.Context, workloads bool) iter.Seq2[offline.Object, error] {
	return func(yield func(offline.Object, error) bool) {
		l := lister{c, map[string]served{}, yield}
		for _, kind := range admission.Kinds() {
			if (workloads || !kind.MakesPods) && !l.list(ctx, kind.Kind) {
				return
			}
		}
	}
}

// Resources returns the resources that Objects lists without workloads, as kubectl api-resources -o name prints them.
func Resources() []string {
	var names []string
	for _, kind := range admission.Kinds() {
		if !kind.MakesPods {
			names = append(names, resourceName(kind.Kind))
		}
	}
	return names
}

// List returns the objects at an API path such as /api/v1/nodes, page by page. query contains selectors and may be
// nil. The sequence ends after an error. Answered returns its status code.
func (c *Client) List(ctx context.Context, path string, query url.Values) iter.Seq2[offline.Object, error] {
	return func(yield func(offline.Object, error) bool) {
		l := lister{c, nil, yield}
		if _, err := l.pages(ctx, path, query); err != nil {
			yield(offline.Object{}, err)
		}
	}
}

// Get returns the body of a response, such as an object or metrics. A body of more than max bytes is an error.
func (c *Client) Get(ctx context.Context, path string, max int64) ([]byte, error) {
	body, err := c.get(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(body, max+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > max {
		return nil, fmt.Errorf("%s has more than %d MiB", path, max>>20)
	}
	return data, nil
}

// lister lists the kinds one after another.
type lister struct {
	*Client
	served map[string]served // by group and version
	yield  func(offline.Object, error) bool
}

// served contains the resources of a group and version that can be listed, or an error.
type served struct {
	resources []string
	err       error
}

// list yields all objects of a kind. It returns false if the consumer has stopped.
func (l *lister) list(ctx context.Context, kind review.Kind) bool {
	name := resourceName(kind)
	path, err := l.path(ctx, kind)
	if err != nil {
		return l.yield(offline.Object{}, fmt.Errorf("%s: %w", name, err))
	}
	if path == "" {
		return l.yield(offline.Object{}, &offline.NotServedError{Resource: name})
	}
	more, err := l.pages(ctx, path, nil)
	if err != nil {
		return l.yield(offline.Object{}, fmt.Errorf("%s: the list is incomplete: %w", name, err))
	}
	return more
}

// pages yields the objects of all pages. more is false if the consumer has stopped.
func (l *lister) pages(ctx context.Context, path string, selected url.Values) (more bool, err error) {
	query := url.Values{"limit": {pageSize}}
	maps.Copy(query, selected)
	for {
		next, more, err := l.page(ctx, path, query)
		switch {
		case err != nil || !more || next == "":
			return more, err
		case next == query.Get("continue"):
			return true, errors.New("the API server returned the same page again")
		}
		query.Set("continue", next)
	}
}

// page yields the objects of a page and returns the continue token for the next page. The token is empty after the
// last page. more is false if the consumer has stopped.
func (l *lister) page(
	ctx context.Context, path string, query url.Values,
) (next string, more bool, err error) {
	body, err := l.get(ctx, path, query)
	if expired, ok := errors.AsType[*statusError](err); ok && expired.code == http.StatusGone && expired.continued != "" {
		return expired.continued, true, nil // etcd has compacted the revision of the first page
	}
	if err != nil {
		return "", true, err
	}
	defer func() { _ = body.Close() }() // it was only read
	list := offline.NewList(path, body)
	for object, err := range list.Objects() {
		if !l.yield(object, err) {
			return "", false, nil
		}
	}
	return list.Continue(), true, nil
}

// path returns the API path of a kind in the newest version that the API server serves. It returns an empty string if
// the API server does not serve the kind.
func (l *lister) path(ctx context.Context, kind review.Kind) (string, error) {
	for _, version := range append([]string{kind.Resource.Version}, kind.Older...) {
		base := "/apis/" + kind.Resource.Group + "/" + version
		if kind.Resource.Group == "" {
			base = "/api/" + version
		}
		s, known := l.served[base]
		if !known {
			s.resources, s.err = l.discover(ctx, base)
			l.served[base] = s
		}
		switch {
		case s.err != nil:
			return "", fmt.Errorf("%s: %w", base, s.err)
		case slices.Contains(s.resources, kind.Resource.Name):
			return base + "/" + kind.Resource.Name, nil
		}
	}
	return "", nil
}

// discover returns the resources of a group and version that can be listed. It returns nil if the API server does not
// serve the version.
func (l *lister) discover(ctx context.Context, base string) ([]string, error) {
	body, err := l.get(ctx, base, nil)
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	var all struct {
		Kind      string `json:"kind"`
		Resources []struct {
			Name  string   `json:"name"`
			Verbs []string `json:"verbs"`
		} `json:"resources"`
	}
	if err := json.UnmarshalRead(io.LimitReader(body, maxDiscovery), &all); err != nil {
		return nil, fmt.Errorf("read the served resources: %w", err)
	}
	if all.Kind != "APIResourceList" {
		return nil, errors.New("the response is not from an API server: it is not an APIResourceList")
	}
	var names []string
	for _, r := range all.Resources {
		if slices.Contains(r.Verbs, "list") {
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// resourceName returns the name of a kind for errors and reports, in the form that kubectl accepts:
// certificates.cert-manager.io.
func resourceName(kind review.Kind) string {
	if kind.Resource.Group == "" {
		return kind.Resource.Name
	}
	return kind.Resource.Name + "." + kind.Resource.Group
}
