// Package object contains the objects that a policy evaluates: Pods, Ingresses, Services, routes and so on. Each type
// has only the fields that decisions depend on. Package review reads them from JSON, and package policy evaluates them.
package object
