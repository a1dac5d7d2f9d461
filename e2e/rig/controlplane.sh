# shellcheck shell=bash disable=SC2154
# The control plane, as processes of this machine. To be sourced after settings.sh, processes.sh and keys.sh.

etcd_up() {
  mkdir -p "$state/etcd"
  chmod 700 "$state/etcd" # etcd requires this
  # Without fsync, the data survive the end of etcd, but not a crash of the machine. The tests do not need more.
  start etcd etcd --name here --data-dir "$state/etcd" --unsafe-no-fsync --logger zap --log-level warn \
    --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls http://127.0.0.1:12380 --initial-advertise-peer-urls http://127.0.0.1:12380 --initial-cluster here=http://127.0.0.1:12380
}

apiserver_up() { api_server_up kube-apiserver "$api" "$@"; } # apiserver_up [FLAG...]

# The second API server for the same etcd, which only clients outside of the cluster call. Only the first one writes the
# endpoints of the Service kubernetes, because both have the same address.
second_apiserver_up() { api_server_up second-kube-apiserver "$second_api" --endpoint-reconciler-type none; }

api_server_up() { # api_server_up NAME URL [FLAG...]: with these flags and the flags in APISERVER_FLAGS of up.sh
  local given=()
  read -ra given 2>/dev/null <"$state/apiserver-flags" || true
  start "$1" kube-apiserver --etcd-servers "$etcd" \
    --bind-address "$host_ip" --secure-port "${2##*:}" --advertise-address "$host_ip" --cert-dir "$state/$1" \
    --tls-cert-file "$keys/apiserver.crt" --tls-private-key-file "$keys/apiserver.key" \
    --client-ca-file "$keys/cluster.crt" --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged=true \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$keys/tokens.key" --service-account-signing-key-file "$keys/tokens.key" \
    --service-cluster-ip-range "$services" \
    --requestheader-client-ca-file "$keys/front-proxy.crt" --requestheader-allowed-names front-proxy-client \
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group --requestheader-extra-headers-prefix X-Remote-Extra- \
    --proxy-client-cert-file "$keys/front-proxy-client.crt" --proxy-client-key-file "$keys/front-proxy-client.key" \
    --kubelet-preferred-address-types InternalIP --kubelet-certificate-authority "$keys/cluster.crt" \
    --kubelet-client-certificate "$keys/apiserver-to-kubelets.crt" --kubelet-client-key "$keys/apiserver-to-kubelets.key" \
    "${given[@]}" "${@:3}"
}

apiserver_is_ready() { # apiserver_is_ready [URL]
  curl --fail --silent --max-time 2 --cacert "$keys/cluster.crt" --cert "$keys/admin.crt" --key "$keys/admin.key" "${1:-$api}/readyz"
}

controllers_up() {
  # One of each, so they do not need a leader election. No client calls them, so they do not serve a port.
  start kube-controller-manager kube-controller-manager --kubeconfig "$keys/kube-controller-manager.kubeconfig" --leader-elect=false --secure-port 0 \
    --use-service-account-credentials --root-ca-file "$keys/cluster.crt" --service-account-private-key-file "$keys/tokens.key" \
    --cluster-signing-cert-file "$keys/cluster.crt" --cluster-signing-key-file "$keys/cluster.key"
  start kube-scheduler kube-scheduler --kubeconfig "$keys/kube-scheduler.kubeconfig" --leader-elect=false --secure-port 0
}

# The API server reaches ClusterIPs by a kube-proxy on this machine. It requires a Node to run on, and ends if the Node is
# deleted, but this machine is not a node. It uses the name of the first node, whose zone no Service of the cluster requires.
# It listens on the addresses of this machine.
kube_proxy_up() {
  ! running kube-proxy || return 0
  until_ok 60 "the Node ${nodes[0]}" as_admin get node "${nodes[0]}" # kube-proxy would wait for half a minute, and end
  start kube-proxy kube-proxy --kubeconfig "$keys/kube-proxy.kubeconfig" --hostname-override "${nodes[0]}" --bind-address "$host_ip" \
    --proxy-mode nftables --cluster-cidr "$pods" --healthz-bind-address "$host_ip:10256" --metrics-bind-address "$host_ip:10249" \
    --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0
  until_ok 60 "kube-proxy's rules" nft list table ip kube-proxy
}

kube_proxy_down() {
  stop kube-proxy
  nft delete table ip kube-proxy 2>/dev/null || true
  nft delete table ip6 kube-proxy 2>/dev/null || true
}

# cert-manager's controllers for certificates and its CA injector, as one process outside of the cluster: cert-manager/main.go.
cert_manager_up() {
  as_admin apply --server-side --force-conflicts -f "$bin/crds/" >/dev/null
  as_admin wait --for=condition=Established --timeout=60s -f "$bin/crds/" >/dev/null
  as_admin create namespace cert-manager --dry-run=client --output yaml | as_admin apply -f - >/dev/null
  start cert-manager cert-manager "$kubeconfig"
}
