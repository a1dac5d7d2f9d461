package cmd

import (
	"context"
	"iter"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/apiserver"
)

// clusterFlags select the API server from which an audit lists objects.
type clusterFlags struct {
	server      string
	credentials string
}

func (f *clusterFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "api-server", "", "list the objects of this API server instead of -f: a `URL`, such as "+
		"https://kubernetes.default.svc in a Pod or http://127.0.0.1:8001 for kubectl proxy")
	flags.StringVar(&f.credentials, "api-server-credentials", apiserver.ServiceAccount,
		"`directory` with the files token and ca.crt, for an https:// API server")
}

func (f *clusterFlags) wanted() bool { return f.server != "" }

// objects returns the objects in the cluster of all kinds that Evergate validates.
func (f *clusterFlags) objects(ctx context.Context) (iter.Seq2[offline.Object, error], error) {
	c, err := apiserver.New(f.server, f.credentials)
	if err != nil {
		return nil, err
	}
	return c.Objects(ctx, false), nil
}
