# shellcheck shell=bash disable=SC2154
# Processes that outlive the script that starts them. Each has a file with its number and the time of its start, so that
# another process that was given the same number later is never taken for it, nor killed. To be sourced after settings.sh.

born() { # born PID: when, in ticks since the machine's start; nothing when there is no such process
  local stat
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
  read -ra stat <<<"${stat##*) }" # what stands behind the name, which may hold anything
  echo "${stat[19]}"
}

running() { # running NAME
  local pid at
  read -r pid at 2>/dev/null <"$state/run/$1" || return 1
  [ -n "$at" ] && [ "$(born "$pid")" = "$at" ]
}

killed() { # killed: there was a cluster, nobody stopped it, and none of its processes runs
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
    # Nothing of the calling shell's stays open: neither its terminal nor a lock of its own, such as flock's.
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
