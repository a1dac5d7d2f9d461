package export

import "slices"

// Component is the value of the label app.kubernetes.io/component of exported objects: the backstop.
const Component = "backstop"

// stages returns the suffixes of the names of the policies of a kind.
func stages() []string { return []string{"enforce", "existing", "warn", "audit"} }

// Names returns the possible names of exported policies and of their bindings, for validating and for mutating
// policies.
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
