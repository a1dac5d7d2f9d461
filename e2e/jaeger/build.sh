#!/usr/bin/env bash
# Builds the Jaeger for the tests of traces, only from Go modules, at the version in go.mod. Prints the directory that
# it is in: the cache of e2e/rig/build.sh, of a directory per version.
#
#   e2e/jaeger/build.sh         about 5 minutes of one core the first time, no time later
#
# The module does not contain the pages of Jaeger's user interface. It contains the query API, which the tests use.
# EVERGATE_E2E_CACHE is another place for the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

jaeger=github.com/jaegertracing/jaeger
version=$(go list -m -f '{{.Version}}' $jaeger)
bin=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}/jaeger-$version

if [ ! -x "$bin/jaeger" ]; then
  mkdir -p "$bin"
  # Under another name first, so an existing binary is always complete.
  CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w -X $jaeger/internal/version.latestVersion=$version" -o "$bin/.jaeger" $jaeger/cmd/all-in-one >&2
  mv "$bin/.jaeger" "$bin/jaeger"
fi
echo "$bin"
