package main

import "github.com/spf13/cobra"

func newExplain(_ *app) *cobra.Command { return &cobra.Command{Use: "explain POD"} }
