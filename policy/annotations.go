package policy

// annotationRules is the field annotations of ingresses and services entries.
type annotationRules struct{}

// annotationChecks compiles rules; nil rules give no checks.
func annotationChecks[T any, P object[T]](rules *annotationRules) []check[T] { return nil }
