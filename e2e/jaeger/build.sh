#!/usr/bin/env bash
# Builds the Jaeger for the tests of traces from Go modules, in the version of go.mod, and prints its directory. The
# directory is in the cache of e2e/rig/build.sh, with one directory per version.
#
#   e2e/jaeger/build.sh         takes about 5 minutes of one core the first time
#
# The module does not contain the pages of Jaeger's user interface. It contains the query API, which the tests use.
# EVERGATE_E2E_CACHE is another place for the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GOWORK=off # e2e/go.work does not list this module

jaeger=github.com/jaegertracing/jaeger
version=$(go list -m -f '{{.Version}}' $jaeger)
bin=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}/jaeger-$version

if [ ! -x "$bin/jaeger" ]; then
  mkdir -p "$bin"
  # The file gets its final name last, so an existing binary is always complete.
  CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w -X $jaeger/internal/version.latestVersion=$version" -o "$bin/.jaeger" $jaeger/cmd/all-in-one >&2
  mv "$bin/.jaeger" "$bin/jaeger"
fi
echo "$bin"
