# shellcheck shell=bash disable=SC2154
# The network: a bridge on this machine, a cable from it to each node, and routes. To be sourced after settings.sh.
#
# Pods reach Pods of other nodes by routes on the nodes. This machine runs the API server. It has routes to Pods and to
# Services too, and a separate kube-proxy (controlplane.sh). The API server therefore calls webhooks as in a real cluster.

network_up() {
  ip link show "$bridge" >/dev/null 2>&1 || ip link add "$bridge" type bridge
  ip addr replace "$host_ip/24" dev "$bridge"
  ip link set "$bridge" up
  # Where packets to Services would leave, were kube-proxy's rules not there to send them elsewhere; and whence they come.
  ip route replace "$services" dev "$bridge" src "$host_ip"
  # A node in the set "cut" does not receive or send IP packets. ARP keeps working. Otherwise its peers would get "no route to host".
  nft list table bridge evergate_e2e >/dev/null 2>&1 || nft -f - <<'EOF'
table bridge evergate_e2e {
  set cut { type ifname; }
  chain from { type filter hook prerouting priority -300; iifname @cut ether type { ip, ip6 } drop; }
  chain through { type filter hook forward priority -300; oifname @cut ether type { ip, ip6 } drop; }
  chain to { type filter hook output priority -300; oifname @cut ether type { ip, ip6 } drop; }
}
EOF
}

node_network_up() { # node_network_up NODE
  local ns other
  ns=$(netns "$1")
  if ! [ -e "/run/netns/$ns" ]; then
    ip netns add "$ns"
    ip link add "$ns" type veth peer name eth0 netns "$ns"
  fi
  ip link set "$ns" master "$bridge" up
  ip -n "$ns" link set lo up
  ip -n "$ns" addr replace "$(node_ip "$1")/24" dev eth0
  ip -n "$ns" link set eth0 up
  ip -n "$ns" route replace default via "$host_ip"
  # Packets of Pods are forwarded. If kube-proxy redirects them, they come back on another way.
  ip netns exec "$ns" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
  for other in "${nodes[@]}"; do
    [ "$other" = "$1" ] || ip -n "$ns" route replace "$(node_pods "$other")" via "$(node_ip "$other")"
  done
  ip route replace "$(node_pods "$1")" via "$(node_ip "$1")" dev "$bridge"
}

network_down() {
  local node ns
  for node in "${nodes[@]}"; do
    ns=$(netns "$node")
    ip link del "$ns" 2>/dev/null || true
    ip netns del "$ns" 2>/dev/null || true
  done
  ip link del "$bridge" 2>/dev/null || true # its routes go with it
  nft delete table bridge evergate_e2e 2>/dev/null || true
}

# "nft get element" would fail if a kube-proxy changes rules meanwhile: 5 of 300 times next to a process that does
# nothing else. The other two functions do not query first either, because then a node that wrongly seems connected would not be healed.
is_cut() { nft list set bridge evergate_e2e cut 2>/dev/null | grep -qF "\"$(netns "$1")\""; }
cut_off() { nft add element bridge evergate_e2e cut "{ $(netns "$1") }"; }
heal() { # nft can delete only an existing element
  nft "add element bridge evergate_e2e cut { $(netns "$1") }; delete element bridge evergate_e2e cut { $(netns "$1") }"
}
