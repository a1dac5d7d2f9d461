#!/usr/bin/env bash
# check.sh: checks the server and the plugin for known vulnerabilities in functions that they call. The Go vulnerability
# database is a Go module, so a run needs only the module proxy. Update the database with:
#   cd tools/vuln && go get golang.org/x/vulndb@latest golang.org/x/vuln@latest && go mod tidy
# Each line of accepted.txt accepts a vulnerability until a date, with a reason. Needs jq.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export GOWORK=off CGO_ENABLED=0
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# govulncheck reads a directory with one file for each vulnerability, so the module does not have to be converted.
module=$(go mod download -modfile=tools/vuln/go.mod -json golang.org/x/vulndb | jq -r .Dir)
entries=$(find "$module/data/osv" -name 'GO-*.json' | wc -l)
((entries > 1000)) || { echo "vuln: $module/data/osv contains only $entries entries" >&2; exit 1; }
echo "vuln: $(go list -modfile=tools/vuln/go.mod -m golang.org/x/vulndb), $entries entries"

# check MODULE TAGS: adds a line for each vulnerability in the binaries of a release, which are built for three operating
# systems: its ID, the module, the found and the fixed version, a function that is called, and the summary.
check() {
  for os in linux darwin windows; do
    GOOS=$os bin/govulncheck -C "$1" -format json -db "file://$module/data/osv" -tags "$2" .
  done | jq -n -r --arg of "$1" '
    reduce inputs as $line ({osv: {}, findings: []};
      if $line.osv then .osv[$line.osv.id] = $line.osv.summary
      elif $line.finding.trace[0].function then .findings += [$line.finding] else . end) |
    .osv as $osv | .findings | group_by([.osv, .trace[0].module])[] | .[0] |
    [.osv, .trace[0].module, .trace[0].version, .fixed_version // "-", $of, .trace[0].package + "." + .trace[0].function, $osv[.osv]] |
    @tsv' >> "$found"
}
check . grpcnotrace,nethttpomithttp2
check cmd/kubectl-evergate ''

awk -F '\t' -v today="$(date -u +%F)" '
  FILENAME ~ /accepted.txt$/ { if (!/^#/ && split($0, part, " ") > 2) until[part[1]] = part[2]; next }
  $1 in until && until[$1] >= today { used[$1] = 1; print "vuln: accepted until " until[$1] ": " $0; next }
  { used[$1] = 1; bad++; print "vuln: " $0 }
  END {
    for (id in until) if (!(id in used)) { bad++; print "vuln: accepted.txt contains " id ", which was not found: remove the line" }
    if (bad) print "vuln: upgrade the modules, or accept a vulnerability in tools/vuln/accepted.txt until a date"
    exit bad > 0
  }' tools/vuln/accepted.txt "$found"
