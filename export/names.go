package export

import "slices"

// Component is the value of the label app.kubernetes.io/component of what is exported as objects: the backstop.
const Component = "backstop"

// stages end the names of the policies of a kind.
func stages() []string { return []string{"enforce", "existing", "warn", "audit"} }

// Names returns the names that exported policies, and their bindings, can have: of those that validate and of those
// that mutate.
func Names() (validating, mutating []string) {
	x := &exporter{mirrors: newMirrors(nil)}
	for _, k := range x.kinds() {
		for _, stage := range stages() {
			validating = append(validating, "evergate-"+k.name+"-"+stage)
		}
	}
	slices.Sort(validating)
	return validating, []string{"evergate-mirrors"}
}
