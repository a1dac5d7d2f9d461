#!/bin/sh
# Prints what evergate preflight looks at in a live cluster, as JSON documents one after the other:
#
#   deploy/collect.sh [NAMESPACE] | evergate preflight -f -
#
# NAMESPACE is where Evergate runs, evergate-system by default. It needs kubectl alone, and changes nothing. Of Secrets
# only certificates are printed: a private key never leaves kubectl. What may not be read, or is not served, is said on
# stderr and left out. It asks each time what is served.
set -u
namespace=${1:-evergate-system}

# get prints objects. kubectl says itself what it could not read.
get() {
  kubectl get --ignore-not-found -o json "$@" || echo "collect.sh: left out: kubectl get $*" >&2
}

# What the API server serves, one resource a line. kubectl says itself what it could not learn, such as of an aggregated API
# that does not answer: then each is asked for.
served=$(kubectl api-resources --verbs=list --output=name) || served=

# is_served reports whether a resource is served, as resource.group.
is_served() {
  case "
$served
" in
  *"
$1
"*) return 0 ;;
  *) [ -z "$served" ] ;;
  esac
}

# get_served prints objects of a resource that not every cluster has. What follows its name are arguments of kubectl get.
get_served() {
  resource=$1
  shift
  if is_served "$resource"; then
    get "$@" "$resource"
  else
    echo "collect.sh: not served: $resource" >&2
  fi
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

# files prints which policy files of the API server are of, which no list shows: they deny this dry run, and say it. Nothing is
# created.
files() {
  said=$(kubectl -n "$namespace" create configmap evergate-backstop-probe --dry-run=server 2>&1 >/dev/null) && return
  case $said in
  *evergate-probe.static.k8s.io*'[policy '*)
    hash=$(printf '%s' "${said##*'[policy '}" | sed 's/].*//' | tr -cd '0-9a-f')
    printf '{"apiVersion":"v1","kind":"Status","status":"Failure",'
    printf '"message":"evergate-probe.static.k8s.io: exported from [policy %s]"}\n' "$hash"
    ;;
  *)
    echo "$said" >&2
    echo 'collect.sh: left out: files of the API server' >&2
    ;;
  esac
}

# Of the whole cluster.
for kind in \
  mutatingwebhookconfigurations validatingwebhookconfigurations \
  validatingadmissionpolicies validatingadmissionpolicybindings \
  namespaces nodes clusterroles clusterrolebindings; do
  get "$kind"
done
# From Kubernetes 1.36 on. Earlier versions of it are not read.
for kind in mutatingadmissionpolicies mutatingadmissionpolicybindings; do
  if is_served "$kind.admissionregistration.k8s.io"; then
    get "$kind.v1.admissionregistration.k8s.io"
  else
    echo "collect.sh: not served: $kind.admissionregistration.k8s.io" >&2
  fi
done
files
get_served clusterissuers.cert-manager.io
get --all-namespaces ingresses # a mirror may be behind one, or behind a route
for kind in \
  httproutes.gateway.networking.k8s.io tlsroutes.gateway.networking.k8s.io routes.route.openshift.io \
  grpcroutes.gateway.networking.k8s.io tcproutes.gateway.networking.k8s.io udproutes.gateway.networking.k8s.io \
  gateways.gateway.networking.k8s.io listenersets.gateway.networking.k8s.io; do
  get_served "$kind" --all-namespaces
done
get --all-namespaces services # those that webhooks call, and those whose annotations name hosts
get --all-namespaces serviceaccounts # some refuse pull secrets that they do not list
# What scrapes Evergate may be anywhere.
for kind in prometheuses prometheusagents podmonitors servicemonitors; do
  get_served "$kind.monitoring.coreos.com" --all-namespaces
done

# Of Evergate's namespace.
get -n "$namespace" configmap evergate-policy
for kind in \
  pods poddisruptionbudgets horizontalpodautoscalers.v2.autoscaling resourcequotas limitranges \
  networkpolicies endpointslices roles rolebindings; do
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

# Of the namespaces of all webhooks: the labels of the Pods behind their Services.
called='{range .items[*].webhooks[*]}{.clientConfig.service.namespace}{"\n"}{end}'
{
  echo "$namespace"
  kubectl get mutatingwebhookconfigurations -o jsonpath="$called"
  kubectl get validatingwebhookconfigurations -o jsonpath="$called"
} | sort -u | while read -r ns; do
  [ -n "$ns" ] || continue
  get -n "$ns" deployments
done
