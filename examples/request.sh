#!/bin/sh
# Sends reviews of a Pod, an Ingress and a Service to the server of "evergate serve --dev", as kube-apiserver would.
# After each response it prints the decoded patch, or the denial as a user sees it.
set -eu
cd "$(dirname "$0")/.."
server=${EVERGATE_DEV:-https://127.0.0.1:8443}
ca=${EVERGATE_DEV_CA:-${TMPDIR:-/tmp}/evergate-dev-ca.crt}
[ -r "$ca" ] || { echo "no CA at $ca: start the server first, with make run" >&2; exit 1; }

ask() { # ask PATH REVIEW
  echo "POST $1 < $2"
  answer=$(curl --silent --show-error --fail-with-body --cacert "$ca" -H 'Content-Type: application/json' -d "@$2" "$server$1?timeout=3s")
  printf "%s\n" "$answer"
  case $answer in *'"patch":"'*)
    patch=${answer#*'"patch":"'}
    printf 'the patch: %s\n' "$(printf %s "${patch%%'"'*}" | base64 -d)" ;;
  esac
  printf '%s\n' "$answer" | sed -nE 's/.*"message":"(([^"\\]|\\.)*)".*/the denial: \1/p' |
    awk '{gsub(/\\n/, "\n"); gsub(/\\"/, "\""); print}'
  echo
}

ask /mutate/pods examples/reviews/pod.json
ask /validate/ingresses examples/reviews/ingress.json
ask /validate/services examples/reviews/service.json
