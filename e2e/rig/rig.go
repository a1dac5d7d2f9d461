// Package rig pins the versions of the Kubernetes binaries that tests use: see build.sh.
package rig
