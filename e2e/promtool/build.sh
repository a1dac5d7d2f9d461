#!/usr/bin/env bash
# Builds the promtool for the tests of alerts from Go modules, in the version of go.mod, and prints its directory. The
# directory is in the cache of e2e/rig/build.sh, with one directory per version.
#
#   e2e/promtool/build.sh       takes about 3 minutes of one core the first time
#
# EVERGATE_E2E_CACHE is another place for the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

prometheus=github.com/prometheus/prometheus
version=$(go list -m -f '{{.Version}}' $prometheus)
bin=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}/promtool-$version

if [ ! -x "$bin/promtool" ]; then
  mkdir -p "$bin"
  # Service discovery is left out. Tests of rules do not need it, and its cloud libraries are most of the code.
  # The file gets its final name last, so an existing binary is always complete.
  CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags '-s -w' -tags remove_all_sd -o "$bin/.promtool" $prometheus/cmd/promtool >&2
  mv "$bin/.promtool" "$bin/promtool"
fi
echo "$bin"
