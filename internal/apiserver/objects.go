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

// pageSize is how many objects are asked for at once: as many as kubectl does. What a page holds is read object by
// object; the API server has all of it in memory.
const pageSize = "500"

// maxDiscovery bounds the list of resources of one version of a group. That of v1 has 12 KiB.
const maxDiscovery = 4 << 20

// Objects returns the objects of each kind that is judged, in all namespaces. workloads adds Deployments, Jobs and the
// like: of those that exist, their Pods are judged, and a plan judges their templates too. A kind that the API server
// does not serve is an *offline.NotServedError, and a kind that it does not list is another error. The kinds after it
// follow.
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

// List returns the objects at a path of the API, such as /api/v1/nodes, page by page. The query, which may be nil,
// holds what is selected. An error ends it; Answered has its code.
func (c *Client) List(ctx context.Context, path string, query url.Values) iter.Seq2[offline.Object, error] {
	return func(yield func(offline.Object, error) bool) {
		l := lister{c, nil, yield}
		if _, err := l.pages(ctx, path, query); err != nil {
			yield(offline.Object{}, err)
		}
	}
}

// Get returns the text of an answer, which max bytes bound: of an object, or of metrics.
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

// lister lists the kinds, one after the other.
type lister struct {
	*Client
	served map[string]served // by group and version
	yield  func(offline.Object, error) bool
}

// served is which resources of a group and version are listed, or why that is not known.
type served struct {
	resources []string
	err       error
}

// list yields all objects of a kind. It reports whether more are wanted.
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
		return l.yield(offline.Object{}, fmt.Errorf("%s: not all are listed: %w", name, err))
	}
	return more
}

// pages yields the objects of all pages. more is whether more objects are wanted.
func (l *lister) pages(ctx context.Context, path string, selected url.Values) (more bool, err error) {
	query := url.Values{"limit": {pageSize}}
	maps.Copy(query, selected)
	for {
		next, more, err := l.page(ctx, path, query)
		switch {
		case err != nil || !more || next == "":
			return more, err
		case next == query.Get("continue"):
			return true, errors.New("the same page comes again")
		}
		query.Set("continue", next)
	}
}

// page yields the objects of a page, and returns what asks for the next one; empty for none. more is whether more
// objects are wanted.
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

// path returns where the API server lists a kind, in the newest version that it serves; empty where it serves none.
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

// discover returns the resources of a group and version that can be listed; none where the API server does not serve
// it.
func (l *lister) discover(ctx context.Context, base string) ([]string, error) {
	body, err := l.get(ctx, base, nil)
	if refusal, ok := errors.AsType[*statusError](err); ok && refusal.code == http.StatusNotFound {
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
		return nil, fmt.Errorf("read what is served: %w", err)
	}
	if all.Kind != "APIResourceList" {
		return nil, errors.New("this is not the answer of an API server: it has no APIResourceList")
	}
	var names []string
	for _, r := range all.Resources {
		if slices.Contains(r.Verbs, "list") {
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// resourceName is what errors and reports call a kind, as kubectl takes it: certificates.cert-manager.io.
func resourceName(kind review.Kind) string {
	if kind.Resource.Group == "" {
		return kind.Resource.Name
	}
	return kind.Resource.Name + "." + kind.Resource.Group
}
