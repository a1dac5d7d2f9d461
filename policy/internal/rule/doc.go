// Package rule evaluates objects against the rules of a policy. It does not depend on any kind of object.
//
// A kind has a type for its view of an object, see [ViewOf], and checks for it, see [Check]. It compiles the entries of
// its block to rules, see [CompileRules]. [Evaluate] then returns the findings of these rules in an object.
//
//	entry.go     name, mode and message of an entry
//	selector.go  match and exclude of an entry; selector_labels.go, their labels; selector_dimensions.go, the fields of
//	             match and exclude that each kind has; set_name.go, match.set
//	until.go     the end of an entry or of an exclude
//	evaluate.go  rules and checks, and their evaluation in an object or in its parts
//	index.go     the rules that can match a namespace
//	finding.go   findings, and the ratchet: only introduced findings deny an update
//	exceptions.go  the exceptions block; exemptions.go, the exemption of findings; pattern.go, the pattern of rules
//	effort.go    limits on the cost of evaluating an object; comparisons.go, limits on the cost of loading a policy
package rule
