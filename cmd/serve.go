package cmd

import (
	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/settings"
)

func newServeCommand() *cobra.Command {
	var f settings.Serve
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer kube-apiserver's admission reviews",
		Long: `Serve answers the admission reviews of kube-apiserver over HTTPS until SIGTERM or SIGINT. Then it drains,
which means that it continues to serve and sends "Connection: close" so that clients reconnect to another replica. A
second signal stops it immediately.

With --dev it generates a certificate, loads an example policy and listens only on 127.0.0.1.

Exit codes: 0 drained, 1 failed to start or to serve (see the last log line), 2 bad flags or a bad policy, 3 stopped by
a second signal, 4 the shutdown timeout ended a request.`,
		Example: `  evergate serve --dev
  evergate serve --policy /etc/evergate/policy \
    --tls-cert /etc/evergate/tls/tls.crt --tls-key /etc/evergate/tls/tls.key`,
		Args: cli.NoArgs(settings.ArgsHint),
	}
	f.Define(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := f.Complete(c.Flags()); err != nil {
			return err
		}
		return serve(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}
