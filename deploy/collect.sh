#!/bin/sh
# Prints what evergate preflight looks at in a live cluster, as JSON documents one after the other:
#
#   deploy/collect.sh [NAMESPACE] | evergate preflight -f -
#
# NAMESPACE is where Evergate runs, evergate-system by default. It needs kubectl alone, and changes nothing. Of Secrets
# only certificates are printed: a private key never leaves kubectl. What may not be read, or is not there, is said on
# stderr and left out.
set -u
namespace=${1:-evergate-system}

# get prints objects. kubectl says itself what it could not read.
get() {
  kubectl get --ignore-not-found -o json "$@" || echo "collect.sh: left out: kubectl get $*" >&2
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

# Of the whole cluster.
for kind in \
  mutatingwebhookconfigurations validatingwebhookconfigurations \
  validatingadmissionpolicies validatingadmissionpolicybindings \
  namespaces nodes clusterroles clusterrolebindings clusterissuers.cert-manager.io; do
  get "$kind"
done
get --all-namespaces ingresses # a mirror may be behind one
get --all-namespaces serviceaccounts # some refuse pull secrets that they do not list
# What scrapes Evergate may be anywhere. Without the Prometheus operator there are no such kinds, which is nothing to tell.
monitoring=$(kubectl api-resources --api-group=monitoring.coreos.com --output=name)
for kind in prometheuses prometheusagents podmonitors servicemonitors; do
  case $monitoring in *"$kind.monitoring.coreos.com"*) get --all-namespaces "$kind.monitoring.coreos.com" ;; esac
done

# Of Evergate's namespace.
get -n "$namespace" configmap evergate-policy
for kind in \
  pods poddisruptionbudgets horizontalpodautoscalers.v2.autoscaling resourcequotas limitranges \
  networkpolicies endpointslices roles rolebindings certificates.cert-manager.io issuers.cert-manager.io; do
  get -n "$namespace" "$kind"
done
for secret in $(kubectl -n "$namespace" get certificates.cert-manager.io -o jsonpath='{.items[*].spec.secretName}'); do
  certificates "$secret"
done

# Of the namespaces of all webhooks: their Services, and the labels of the Pods behind them.
called='{range .items[*].webhooks[*]}{.clientConfig.service.namespace}{"\n"}{end}'
{
  echo "$namespace"
  kubectl get mutatingwebhookconfigurations -o jsonpath="$called"
  kubectl get validatingwebhookconfigurations -o jsonpath="$called"
} | sort -u | while read -r ns; do
  [ -n "$ns" ] || continue
  get -n "$ns" services
  get -n "$ns" deployments
done
