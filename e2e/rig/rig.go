// Package rig pins the versions of the Kubernetes binaries that tests run on: see build.sh.
package rig
