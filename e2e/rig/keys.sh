# shellcheck shell=bash disable=SC2154
# The authorities, certificates and kubeconfigs of the control plane and the nodes. Existing files are kept. To be sourced after settings.sh.
keys=$state/keys

authority() { # authority NAME
  [ ! -s "$keys/$1.crt" ] || return 0
  mkdir -p "$keys"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj "/CN=evergate-e2e-$1" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign \
    -keyout "$keys/$1.key" -out "$keys/$1.crt" 2>/dev/null
}

certificate() { # certificate NAME AUTHORITY SUBJECT [NAMES]: for clients, and with names also for servers
  [ ! -s "$keys/$1.crt" ] || return 0
  local use='keyUsage=critical,digitalSignature
extendedKeyUsage=clientAuth,serverAuth'
  [ -z "${4:-}" ] || use+=$'\n'"subjectAltName=$4"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$3" -keyout "$keys/$1.key" -out "$keys/$1.csr" 2>/dev/null
  openssl x509 -req -in "$keys/$1.csr" -CA "$keys/$2.crt" -CAkey "$keys/$2.key" -set_serial "0x$(openssl rand -hex 15)" -days 365 \
    -extfile <(echo "$use") -out "$keys/$1.crt" 2>/dev/null
  rm "$keys/$1.csr"
}

kubeconfig_of() { # kubeconfig_of CERTIFICATE FILE: writes the file atomically
  cat >"$2.new" <<EOF
apiVersion: v1
kind: Config
clusters:
- name: evergate-e2e
  cluster: {server: "$api", certificate-authority-data: $(base64 -w0 "$keys/cluster.crt")}
users:
- name: $1
  user: {client-certificate-data: $(base64 -w0 "$keys/$1.crt"), client-key-data: $(base64 -w0 "$keys/$1.key")}
contexts:
- {name: evergate-e2e, context: {cluster: evergate-e2e, user: $1}}
current-context: evergate-e2e
EOF
  mv "$2.new" "$2"
}

make_keys() {
  authority cluster
  authority front-proxy # for extension API servers; the API server requires it, although there are not any
  certificate apiserver cluster /CN=kube-apiserver \
    "IP:$host_ip,IP:$first_service,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
  certificate apiserver-to-kubelets cluster /O=system:masters/CN=kube-apiserver-kubelet-client
  certificate front-proxy-client front-proxy /CN=front-proxy-client
  [ -s "$keys/tokens.key" ] || openssl genrsa -out "$keys/tokens.key" 2048 2>/dev/null
  certificate admin cluster /O=system:masters/CN=evergate-e2e-admin
  kubeconfig_of admin "$kubeconfig"
  local user
  for user in kube-controller-manager kube-scheduler kube-proxy; do
    certificate "$user" cluster "/CN=system:$user"
    kubeconfig_of "$user" "$keys/$user.kubeconfig"
  done
  for user in "${nodes[@]}"; do
    certificate "$user" cluster "/O=system:nodes/CN=system:node:$user" "IP:$(node_ip "$user"),DNS:$user"
    kubeconfig_of "$user" "$keys/$user.kubeconfig"
  done
}
