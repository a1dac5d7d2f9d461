// Package cmd implements the command line: flags and wiring, but no logic.
package cmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/offline/output"
)

// Run runs the command in args and returns the exit code. environ has the format of os.Environ.
func Run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Execute(ctx, newRootCommand(settings.NewEnvironment(environ)), args, stdin, stdout, stderr)
}

func newRootCommand(env settings.Environment) *cobra.Command {
	root := cli.NewGroup("evergate",
		"A Kubernetes admission webhook that rewrites Pod images and validates objects against a policy",
		newServeCommand(),
		newReviewCommand(env),
		newTestCommand(env),
		newPlanCommand(env),
		newImagesCommand(),
		newPolicyCommand(env),
		newPreflightCommand(env),
		newExportCommand(),
		newImportCommand(),
		newVersionCommand(),
	)
	root.Long = `Evergate is a Kubernetes admission webhook. It rewrites the images of Pods to private mirrors, and
validates Pods, workloads, Ingresses, Services, Gateway API objects, OpenShift Routes, cert-manager Certificates and
external-dns DNSEndpoints against a policy.

Every flag can also be set with an environment variable, for example --tls-cert with EVERGATE_TLS_CERT. The command line
overrides the environment, and the environment overrides the default. An empty variable counts as not set. For a
repeatable flag, separate the values in the variable with commas, and put a value that contains a comma in double
quotes.`
	// cobra formats the version. A custom template would link text/template, whose use of reflection keeps every
	// exported method of every type in the binary (5 MiB).
	root.Version = cli.Build().String()
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		known := map[string]bool{}
		eachFlag(c.Root(), func(f *pflag.Flag) { known[settings.Variable(f.Name)] = true })
		for _, err := range env.Ignored(func(variable string) bool { return known[variable] }) {
			cli.Say(c.ErrOrStderr(), "warning: "+err.Error())
		}
		return env.Apply(c.Flags())
	}
	root.InitDefaultCompletionCmd()
	eachFlag(root, func(f *pflag.Flag) { f.Usage += " [" + settings.Variable(f.Name) + "]" })
	return root
}

// eachFlag calls visit for the flags of a command and of its subcommands that can be set with a variable.
func eachFlag(c *cobra.Command, visit func(*pflag.Flag)) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if settings.HasVariable(f) {
			visit(f)
		}
	})
	for _, sub := range c.Commands() {
		eachFlag(sub, visit)
	}
}

func newVersionCommand() *cobra.Command {
	var format *output.Format
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of Evergate",
		Args:  cli.NoArgs("leave it out"),
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.Write(c.OutOrStdout(), *format, cli.Build(), output.Options{})
		},
	}
	format = cli.DefineFormat(c.Flags(), "the version")
	return c
}
