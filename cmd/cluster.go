package cmd

import (
	"context"
	"iter"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/apiserver"
	"github.com/evergate/evergate/offline"
)

// clusterFlags say which API server an audit lists objects of.
type clusterFlags struct {
	server      string
	credentials string
}

func (f *clusterFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "api-server", "", "list the objects of this API server, instead of -f: a `URL`, "+
		"https://kubernetes.default.svc in a Pod, http://127.0.0.1:8001 for kubectl proxy")
	flags.StringVar(&f.credentials, "api-server-credentials", apiserver.ServiceAccount,
		"`directory` with token and ca.crt for an API server at https://")
}

func (f *clusterFlags) wanted() bool { return f.server != "" }

// objects returns the objects of the cluster, of each kind that is judged.
func (f *clusterFlags) objects(ctx context.Context) (iter.Seq2[offline.Object, error], error) {
	c, err := apiserver.New(f.server, f.credentials)
	if err != nil {
		return nil, err
	}
	return c.Objects(ctx, false), nil
}
