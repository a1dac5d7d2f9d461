#!/usr/bin/env bash
# Checks formatting, and runs the tests of every package of the server, the plugin and the benchmarks that differs from main or
# imports a package that does. It leaves out the race detector, and -short leaves out samples: make test runs both.
#
#   tools/quick.sh            the packages that differ from main, including uncommitted changes
#   BASE=HEAD~3 tools/quick.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

base=$(git merge-base HEAD "${BASE:-main}")
changed() { git diff --name-only "$base" && git ls-files --others --exclude-standard; }

# A file belongs to the nearest directory above it with Go code: testdata and embedded files do too.
declare -A dirs=()
while read -r file; do
  dir=$(dirname "$file")
  until compgen -G "$dir/*.go" >/dev/null || [ "$dir" = . ]; do dir=$(dirname "$dir"); done
  dirs[$dir]=1
done < <(changed)
((${#dirs[@]})) || { echo "nothing differs from ${BASE:-main}"; exit 0; }

make --no-print-directory format

# affected MODULE: its packages whose tests contain a package of one of the directories. Of a test's own copies of packages,
# "p [q.test]", the first word is the package.
affected() {
  (cd "$1" && go list -test -f '{{if .ForTest}}{{else}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{end}}' ./...) |
    awk -v dirs="${!dirs[*]}" '
      BEGIN {
        n = split(dirs, d, " ")
        for (i = 1; i <= n; i++) changed["github.com/evergate/evergate" (d[i] == "." ? "" : "/" d[i])] = 1
      }
      $1 ~ /\.test$/ { for (i = 2; i <= NF; i++) if ($i in changed) { sub(/\.test$/, "", $1); print $1; next } }'
}

for module in . cmd/kubectl-evergate tools/bench; do
  mapfile -t packages < <(affected $module)
  ((${#packages[@]})) || continue
  echo "$module: ${#packages[@]} packages"
  (cd $module && go test -short -vet=off "${packages[@]}")
done
