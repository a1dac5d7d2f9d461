#!/usr/bin/env bash
# Stops and starts only the API server. etcd and everything else keep running.
#
#   apiserver.sh stop
#   apiserver.sh start [FLAG...]      with additional flags, such as --enable-aggregator-routing; returns when it is ready
#   apiserver.sh restart [FLAG...]
#
# To set flags permanently, pass them to up.sh in APISERVER_FLAGS.
. "$(dirname "$0")/settings.sh"
. "$rig/processes.sh"
. "$rig/keys.sh"
. "$rig/controlplane.sh"

# It answers the current requests, which takes a moment. Then it waits a minute for watching clients, which do not stop.
end() { stop kube-apiserver TERM 3; }

case ${1:-} in
  stop) end ;;
  start) apiserver_up "${@:2}" ;;
  restart)
    end
    apiserver_up "${@:2}"
    ;;
  *) die "$(sed -n 's/^#   //p' "$0")" ;;
esac
[ "$1" = stop ] || until_ok 120 "the API server" apiserver_is_ready
