# shellcheck shell=bash
# A cgroup for each node with all its processes. It can be frozen as a whole, and kubelet uses it as the root of
# all cgroups. It has version 2 if the machine has version 2, and otherwise the controllers of version 1. To be sourced.
# (Version 2 has been tried with everything except kubelet.)
unified=/sys/fs/cgroup # of version 2
controllers=(cpu cpuacct cpuset memory devices freezer blkio pids name=systemd)

is_v2() { [ -e "$unified/cgroup.controllers" ]; }

# A hierarchy of version 1 is the mount of its controller, which may have other controllers too.
hierarchy() { awk -v want="$1" '$3 == "cgroup" { n = split($4, options, ","); for (i = 1; i <= n; i++) if (options[i] == want) { print $2; exit } }' /proc/mounts; }

cgroups_of() { # cgroups_of NODE: its directories, with version 1 one for each hierarchy
  local controller dir
  if is_v2; then
    echo "$unified/eg-rig/$1"
    return
  fi
  for controller in "${controllers[@]}"; do
    dir=$(hierarchy "$controller")
    [ -z "$dir" ] || echo "$dir/eg-rig/$1"
  done | sort -u
}

cgroups_make() { # cgroups_make NODE
  local dir parent
  for dir in $(cgroups_of "$1"); do
    parent=$(dirname "$dir")
    mkdir -p "$parent"
    if is_v2; then
      pass_on_controllers "$(dirname "$parent")"
      pass_on_controllers "$parent"
    fi
    mkdir -p "$dir"
    [ ! -e "$dir/cpuset.cpus" ] || is_v2 || for parent in "$parent" "$dir"; do # a new cpuset of version 1 is empty and cannot hold processes
      cat "$(dirname "$parent")/cpuset.cpus" >"$parent/cpuset.cpus"
      cat "$(dirname "$parent")/cpuset.mems" >"$parent/cpuset.mems"
      echo 1 >"$parent/cgroup.clone_children"
    done
  done
}

pass_on_controllers() { # pass_on_controllers DIR: its children get all of its controllers
  local controller all
  read -ra all <"$1/cgroup.controllers"
  for controller in "${all[@]}"; do echo "+$controller" >"$1/cgroup.subtree_control"; done
}

cgroups_remove() { # cgroups_remove NODE: when its processes are gone; the kernel takes a moment to see that
  local dir end=$((SECONDS + 60)) # a busy machine needs most of this time
  for dir in $(cgroups_of "$1"); do
    while [ -d "$dir" ]; do
      find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
      ((SECONDS < end)) || die "the cgroup $dir is still in use"
    done
    rmdir "$(dirname "$dir")/outside" 2>/dev/null || true
    rmdir "$(dirname "$dir")" 2>/dev/null || true # unless another node's are there
  done
}

freeze() { # freeze NODE: returns when all its processes are frozen
  if is_v2; then
    set -- "$unified/eg-rig/$1"
    echo 1 >"$1/cgroup.freeze"
    until grep -qx 'frozen 1' "$1/cgroup.events"; do sleep 0.05; done
  else
    set -- "$(hierarchy freezer)/eg-rig/$1/freezer.state"
    echo FROZEN >"$1"
    until [ "$(cat "$1")" = FROZEN ]; do sleep 0.05; done
  fi
}

thaw() { # thaw NODE
  if is_v2; then
    set -- "$unified/eg-rig/$1/cgroup.freeze" 0
  else
    set -- "$(hierarchy freezer)/eg-rig/$1/freezer.state" THAWED
  fi
  [ ! -e "$1" ] || echo "$2" >"$1"
}

is_frozen() {
  if is_v2; then
    grep -qsx 1 "$unified/eg-rig/$1/cgroup.freeze"
  else
    grep -qsx FROZEN "$(hierarchy freezer)/eg-rig/$1/freezer.state"
  fi
}
