#!/bin/sh
# Prints the objects of a live cluster that evergate preflight checks, as a sequence of JSON documents:
#
#   deploy/collect.sh [NAMESPACE] | evergate preflight -f -
#
# NAMESPACE is the namespace of Evergate, evergate-system by default. The script needs only kubectl and does not change
# anything. It prints only the certificates of Secrets. A private key never leaves kubectl. It leaves out objects that it
# may not read and kinds that the cluster does not serve, and reports them on stderr. A test compares the kinds with
# deploy/install/kinds.go.
set -u
namespace=${1:-evergate-system}

# get prints objects. kubectl reports objects that it cannot read.
get() {
  kubectl get --ignore-not-found -o json "$@" || { echo "collect.sh: left out: kubectl get $*" >&2; return 1; }
}

# need prints objects whose absence is a fault or another kind of installation. If kubectl cannot read them, need prints
# their resource, so preflight does not take them for absent.
need() {
  get "$@" && return
  for resource; do :; done # the last argument
  unread "${resource%%/*}"
}

# unread prints a resource that kubectl cannot read.
unread() {
  printf '{"apiVersion":"v1","kind":"Status","status":"Failure","message":"it could not be read",'
  printf '"details":{"kind":"%s"}}\n' "$1"
}

# The resources that the API server serves, one on each line. kubectl reports an error if it cannot list all of them, for
# example because an aggregated API does not answer. Then the script tries to read every resource.
served=$(kubectl api-resources --verbs=list --output=name) || served=

# is_served reports whether a resource, written as resource.group, is served.
is_served() {
  [ -z "$served" ] || echo "$served" | grep -qxF "$1"
}

# get_served prints objects of a resource that not every cluster has. Its other arguments are arguments of kubectl get.
# It reads the version v1, because preflight does not read others.
get_served() {
  resource=$1
  shift
  is_served "$resource" || { echo "collect.sh: not served: $resource" >&2; return; }
  get "$@" "${resource%%.*}.v1.${resource#*.}"
}

# certificates prints a Secret without anything but its certificates.
certificates() {
  data=$(kubectl -n "$namespace" get secret "$1" --ignore-not-found \
    -o jsonpath='{.metadata.uid} {.data.tls\.crt} {.data.ca\.crt}') || return
  # shellcheck disable=SC2086 # neither UIDs nor base64 hold blanks or wildcards
  set -- "$1" $data
  [ $# -ge 3 ] || return
  printf '{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"%s","name":"%s","uid":"%s"},' "$namespace" "$1" "$2"
  printf '"data":{"tls.crt":"%s","ca.crt":"%s"}}\n' "$3" "${4:-}"
}

# files prints the hash of the policy that the API server's files were exported from. No list contains these files. They deny
# this dry run with a message that has the hash. The dry run does not create an object.
files() {
  said=$(kubectl -n "$namespace" create configmap evergate-backstop-probe --dry-run=server 2>&1 >/dev/null) && return
  case $said in
  *evergate-probe.static.k8s.io*'[policy '*)
    hash=$(printf '%s' "${said##*'[policy '}" | sed 's/].*//' | tr -cd '0-9a-f')
    printf '{"apiVersion":"v1","kind":"Status","status":"Failure",'
    printf '"message":"evergate-probe.static.k8s.io: exported from [policy %s]"}\n' "$hash"
    ;;
  *) printf '%s\n' "$said" 'collect.sh: left out: files of the API server' >&2 ;;
  esac
}

# Objects of the whole cluster.
need mutatingwebhookconfigurations
need validatingwebhookconfigurations
for kind in validatingadmissionpolicies validatingadmissionpolicybindings namespaces nodes clusterrolebindings \
  ingresses services; do
  get --all-namespaces "$kind"
done
admission=admissionregistration.k8s.io # Kubernetes 1.36 and newer serve the version v1
for kind in mutatingadmissionpolicies.$admission mutatingadmissionpolicybindings.$admission clusterissuers.cert-manager.io; do
  get_served "$kind"
done
files

# Objects in Evergate's namespace. kustomize may add a hash to the name of the policy, and the ConfigMaps of earlier
# policies stay in the cluster.
if policies=$(kubectl -n "$namespace" get configmaps --output=name); then
  policies=$(echo "$policies" | sed -nE 's,^configmap(/evergate-policy(-[a-z0-9]{10})?)$,configmaps\1,p')
  # shellcheck disable=SC2086 # names do not contain blanks or wildcards
  need -n "$namespace" ${policies:-configmaps/evergate-policy}
else
  unread configmaps # there may be a policy with a hash in its name
  get -n "$namespace" configmaps/evergate-policy
fi
for kind in resourcequotas poddisruptionbudgets horizontalpodautoscalers.v2.autoscaling networkpolicies endpointslices \
  rolebindings; do
  get -n "$namespace" "$kind"
done
for kind in certificates.cert-manager.io issuers.cert-manager.io; do
  get_served "$kind" -n "$namespace"
done
if is_served certificates.cert-manager.io; then
  for secret in $(kubectl -n "$namespace" get certificates.cert-manager.io -o jsonpath='{.items[*].spec.secretName}'); do
    certificates "$secret"
  done
fi

# Deployments in the namespaces of all webhooks, for the labels of the Pods behind their Services.
need -n "$namespace" deployments
called='{range .items[*].webhooks[*]}{.clientConfig.service.namespace}{"\n"}{end}'
for ns in $(kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o jsonpath="$called" | sort -u); do
  [ "$ns" = "$namespace" ] || get -n "$ns" deployments
done
exit 0 # objects that cannot be read are reported
