#!/usr/bin/env bash
# Prints the size of each part with its ceiling, and fails if a part is larger than its ceiling.
#
#   tools/house/house.sh          the sizes, and how much of our code one review of a Pod runs
#   tools/house/house.sh sizes    only the sizes, in a second
#
# The review is examples/reviews/pod.json with the policy of serve --dev, on a warm connection, with traces. The server is built
# with coverage and runs twice, with a different number of reviews. A block belongs to the review if it ran at least once more
# for each additional review, so it does not matter what else runs in the process.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# size FILES EXCEPT: the lines of the files that match a regular expression, or the number of go.mod files.
size() {
  local files
  files=$(git ls-files -co --exclude-standard | grep -E -- "$1" | grep -vE -- "$2" || true)
  if [[ $1 == go* ]]; then wc -l <<<"$files"; else tr '\n' '\0' <<<"$files" | xargs -0 cat | wc -l; fi
}

sizes() {
  local over='' part ceiling files except lines
  printf '%-24s %8s %8s\n' part size ceiling
  while read -r part ceiling files except; do
    [[ $part == \#* ]] && continue
    lines=$(size "$files" "$except")
    printf '%-24s %8d %8d\n' "$part" "$lines" "$ceiling"
    ((lines <= ceiling)) || over+=" $part"
  done <tools/house/ceilings.txt
  [ -z "$over" ] || { echo "larger than its ceiling in tools/house/ceilings.txt:$over" >&2; return 1; }
}

# serve REVIEWS DIRECTORY: runs the server for so many reviews on one connection, and writes how often each block ran.
serve() {
  local address=127.0.0.1:18443 ops=127.0.0.1:18080 pid
  GOCOVERDIR=$2 OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9 "$work/evergate" serve --dev --listen $address --ops-listen $ops \
    --dev-ca "$work/ca.pem" --drain-delay 0s >"$work/log" 2>&1 &
  pid=$!
  until curl -sf -o /dev/null "http://$ops/readyz"; do kill -0 $pid; sleep 0.1; done
  for ((i = 0; i < $1; i++)); do
    printf 'next\nurl = "https://%s/mutate/pods?timeout=3s"\nheader = "Content-Type: application/json"\ndata-binary = "@%s"\noutput = "/dev/null"\nfail\nsilent\ncacert = "%s"\n' \
      $address examples/reviews/pod.json "$work/ca.pem"
  done >"$work/requests"
  curl -K "$work/requests"
  kill $pid
  wait $pid
  go tool covdata textfmt -i="$2" -o="$2.txt"
}

# path prints how many of our functions a review runs with how many lines, and how long the longest tenth of all functions is.
path() {
  local few=100 many=300
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/few" "$work/many"
  go build -cover -covermode=atomic -coverpkg=./... -o "$work/evergate" .
  serve $few "$work/few"
  serve $many "$work/many"
  { # a profile in which only the blocks of the review have run
    echo 'mode: set'
    awk -v each=$((many - few)) 'FNR == 1 { next } NR == FNR { before[$1] = $3; next } { print $1, $2, ($3 - before[$1] >= each) }' \
      "$work/few.txt" "$work/many.txt"
  } >"$work/profile"
  go tool cover -func="$work/profile" | awk -v profile="$work/profile" '
    $1 ~ /:/ { split($1, at, ":"); n = ++functions[at[1]]; start[at[1], n] = at[2]; ran[at[1], n] = $NF != "0.0%" }
    END {
      while ((getline line < profile) > 0) { # the last line of each function
        split(line, f, /[: ]/); split(f[2], range, /[.,]/)
        for (n = functions[f[1]]; n > 1 && start[f[1], n] > range[1]; n--);
        if (range[3] > end[f[1], n]) end[f[1], n] = range[3]
      }
      for (file in functions) for (n = 1; n <= functions[file]; n++) {
        length_ = end[file, n] - start[file, n] + 1; of[length_]++; all++
        if (ran[file, n]) { count++; lines += length_ }
      }
      for (l = 0; (seen += of[l]) < 0.9 * all; l++);
      printf "a review of a Pod runs %d functions with %d lines; the longest tenth of all %d functions begins at %d lines\n", count, lines, all, l
    }'
}

sizes
[ "${1:-}" = sizes ] || path
