#!/usr/bin/env bash
# Runs the tests that the gate leaves out, part by part, and writes e2e/nightly.md. It skips parts that have passed for this revision, so
# it continues an interrupted run. Commits that only change reports do not make a new revision.
#
#   e2e/nightly.sh              the parts of each night: about two hours of two cores
#   e2e/nightly.sh --release    also the parts before a release: about two hours more
#   e2e/nightly.sh PART...      single parts: incidents, calls, … (see below)
#   e2e/nightly.sh --check      fails unless every part, with the parts before a release, has passed for this revision
#
# Three parts take turns, one night after the other: worst tries every tenth row, fuzz a quarter of the targets, and matrix one
# older version of Kubernetes. The page records which. rows and versions are the whole of worst and matrix.
#
# Needs root and the packages that e2e/README.md lists for a cluster. Logs are in build/nightly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

nightly=(incidents calls traces matrix helm objects goodput worst fuzz vuln release)
parts=("${nightly[@]}" apiservers versions gitops rows)
night=$(($(date +%s) / 86400)) # the number of the day
page=e2e/nightly.md
reports=(':!e2e/nightly.md' ':!e2e/report.md' ':!e2e/report-long.md' ':!docs/compatibility.md')
logs=build/nightly
mkdir -p "$logs"

die() { echo "nightly.sh: $*" >&2; exit 1; }
git diff --quiet HEAD -- . "${reports[@]}" || die "commit your changes first: a report is about a revision"
revision=$(git log -1 --format=%H -- . "${reports[@]}")

# run PART: runs the commands of a part. Each command fails if its test fails. A part builds all programs that its
# tests need, because the workflow runs each part on a separate machine.
run() {
  case $1 in
    incidents) make jaeger e2e-up e2e ;; # with controls and variants; writes e2e/report.md
    # make runs a target only once, even if it is on the command line twice
    apiservers) make e2e-down && make e2e-apiservers && make e2e-down ;;
    # the hostile peers for five minutes without client certificates and for five minutes with them
    calls) EVERGATE_HOSTILE_PERIOD=5m make test-calls VERBOSE=1 ;;
    traces) make rig jaeger && EVERGATE_E2E_REQUIRED=1 make test-traces VERBOSE=1 ;;
    matrix) make promtool matrix VERSIONS="$(version)" ;;
    versions) make promtool matrix ;;
    helm) make rig test-helm ;;
    gitops) make rig test-gitops ;;
    objects) make rig test-objects OBJECTS=200 ;;
    goodput) make goodput ;;
    worst) make worst ROWS=10 ROWS_PART=$((night % 10)) ;;
    rows) make worst ;;
    fuzz) make fuzz FUZZTIME=1m FUZZ_GROUPS=4 FUZZ_GROUP=$((night % 4)) ;;
    vuln) make vuln ;;
    release) make release-test ;;
    *) die "unknown part $1: there are ${parts[*]}" ;;
  esac
}

# version prints the older version of Kubernetes of this night.
version() {
  local all
  mapfile -t all < <(ls tools/rig/versions)
  echo "${all[night % ${#all[@]}]}"
}

# figures PART LOG: one line with the results in the log.
figures() {
  case $1 in
    incidents) echo "$(grep -c '| held |' e2e/report.md) held, $(grep -c '| breaks, as it must |' e2e/report.md) controls broke: [report](report.md)" ;;
    apiservers | calls | traces | helm | gitops | objects) echo "$(grep -c -- '--- PASS' "$2") tests passed, $(grep -c -- '--- FAIL' "$2") failed, $(grep -c -- '--- SKIP' "$2") skipped" ;;
    matrix | versions) awk '/^== Kubernetes/ { version = $3 } /^ok / { printf "%s%s: %s", comma, version, $3; comma = ", " }' "$2" ;;
    goodput) grep -oE '[0-9.]+ x[0-9]*.*|goodput.*' "$2" | tail -n 1 | tr '|\t' '/ ' ;;
    worst) echo "part $((night % 10)) of 10: $(tail -n 1 "$2" | tr '|' '/')" ;;
    rows) tail -n 1 "$2" | tr '|' '/' ;;
    fuzz) echo "group $((night % 4)) of 4: $(grep -cE ' Fuzz[A-Za-z]+$' "$2") targets" ;;
    vuln) grep -m 1 -oE '[0-9]+ entries' "$2" ;;
    release) echo "$(wc -l <dist/release/checksums.txt) files, $(cd dist/release && du -ch ./*.gz ./*.zip ./*.tgz ./*.json | tail -n 1 | cut -f 1)" ;;
  esac
}

# older prints the older versions of Kubernetes, in one line.
older() { grep -hoE '^	k8s.io/kubernetes v[0-9.]+' tools/rig/versions/*/go.mod | awk '{ printf "%s%s", comma, $2; comma = ", " }'; }

row() { [ ! -e $page ] || ! grep -q "^| revision | $revision |$" $page || grep "^| $1 |" $page || true; }

# write ROW...: writes the page, with the rows of this run and of earlier runs for this revision.
declare -A rows=()
for part in "${parts[@]}"; do rows[$part]=$(row "$part"); done
write() {
  local part
  {
    cat <<EOF
# The nightly run

\`make nightly\` writes this page. A release needs a page on which every part has passed for the revision that is released.

| | |
| --- | --- |
| revision | $revision |
| Kubernetes | $(go -C tools/rig list -m -f '{{.Version}}' k8s.io/kubernetes); \`matrix\` and \`versions\`: $(older) |
| Go | $(go env GOVERSION) |
| machine | $(nproc) cores, $(grep -oE '[0-9]+' /proc/meminfo | head -n 1) kB, Linux $(uname -r) |

| part | result | started | seconds | figures |
| --- | --- | --- | --- | --- |
EOF
    for part in "${parts[@]}"; do
      [ -z "${rows[$part]}" ] || echo "${rows[$part]}"
    done
  } >$page.new
  mv $page.new $page
}

missing() {
  local part
  for part in "${parts[@]}"; do
    [[ ${rows[$part]} == *"| passed |"* ]] || echo "$part"
  done
}

if [ "${1:-}" = --check ]; then
  mapfile -t wanting < <(missing)
  ((${#wanting[@]} == 0)) || die "$page has no result, or a failure, for revision $revision: ${wanting[*]}"
  exit 0
fi

failed=0
case ${1:-} in
  '') set -- "${nightly[@]}" ;;
  --release) set -- "${parts[@]}" ;;
esac
for part; do
  [[ " ${parts[*]} " == *" $part "* ]] || die "unknown part $part: there are ${parts[*]}"
  if [[ ${rows[$part]} == *"| passed |"* ]]; then
    echo "$part: passed already for $revision"
    continue
  fi
  echo "== $part"
  begun=$SECONDS started=$(date -u '+%Y-%m-%d %H:%M') result=passed
  (run "$part") >"$logs/$part.log" 2>&1 || result=failed
  if [ $result = failed ]; then
    failed=1
    tail -n 30 "$logs/$part.log" || true
  fi
  rows[$part]="| $part | $result | $started UTC | $((SECONDS - begun)) | $(figures "$part" "$logs/$part.log" || true) |"
  write
  echo "${rows[$part]}"
done
exit $failed
