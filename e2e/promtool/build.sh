#!/usr/bin/env bash
# Builds the promtool for the tests of alerts, only from Go modules, at the version in go.mod. Prints the directory
# that it is in: the cache of e2e/rig/build.sh, of a directory per version.
#
#   e2e/promtool/build.sh       about 3 minutes of one core the first time, no time later
#
# EVERGATE_E2E_CACHE is another place for the cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

prometheus=github.com/prometheus/prometheus
version=$(go list -m -f '{{.Version}}' $prometheus)
bin=${EVERGATE_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evergate-e2e}/promtool-$version

if [ ! -x "$bin/promtool" ]; then
  mkdir -p "$bin"
  # Without service discovery, which tests of rules have no use for and which is most of the code: the clouds' libraries.
  # Under another name first, so an existing binary is always complete.
  CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags '-s -w' -tags remove_all_sd -o "$bin/.promtool" $prometheus/cmd/promtool >&2
  mv "$bin/.promtool" "$bin/promtool"
fi
echo "$bin"
