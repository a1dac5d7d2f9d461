# shellcheck shell=bash disable=SC2154
# Processes that outlive the script that starts them. Each has a file with its ID and the time of its start, so
# another process that later gets the same ID is never mistaken for it or killed. To be sourced after settings.sh.

born() { # born PID: its start, in ticks since the machine's start; empty if there is no such process
  local stat
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
  read -ra stat <<<"${stat##*) }" # the fields after the name, which may contain any character
  echo "${stat[19]}"
}

running() { # running NAME
  local pid at
  read -r pid at 2>/dev/null <"$state/run/$1" || return 1
  [ -n "$at" ] && [ "$(born "$pid")" = "$at" ]
}

killed() { # killed: there was a cluster, it was not stopped, and none of its processes is running
  local file found=
  for file in "$state"/run/*; do
    [ -f "$file" ] || continue
    ! running "${file##*/}" || return 1
    found=yes
  done
  [ "$found" ]
}

start() { # start NAME COMMAND...: unless it is running; the log is appended to
  local name=$1
  shift
  running "$name" && return
  mkdir -p "$state/run" "$state/log"
  (
    # No file of the calling shell stays open, including its terminal and locks of flock.
    for fd in "/proc/$BASHPID/fd"/*; do
      fd=${fd##*/}
      ((fd <= 2)) || eval "exec $fd>&-"
    done
    exec setsid "$@"
  ) >>"$state/log/$name.log" 2>&1 </dev/null &
  echo "$! $(born $!)" >"$state/run/$name"
  disown
}

stop() { # stop NAME [SIGNAL [SECONDS]]: with SIGKILL after some seconds, by default ten
  local name=$1 pid
  if running "$name"; then
    read -r pid _ <"$state/run/$name"
    kill -s "${2:-TERM}" "$pid" 2>/dev/null || true
    local end=$((SECONDS + ${3:-10}))
    while running "$name" && ((SECONDS < end)); do sleep 0.1; done
    ! running "$name" || kill -s KILL "$pid" 2>/dev/null || true
    while running "$name"; do sleep 0.1; done
  fi
  rm -f "$state/run/$name"
}
