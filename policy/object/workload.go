package object

// Workload is an object from which a controller creates Pods. It contains the object's metadata and templates.
type Workload struct {
	Meta
	// Templates lists the templates that are present. A Deployment has one. An object of a kind in the policy's templates
	// block can have any number.
	Templates []PodTemplate
}

// PodTemplate is a Pod template, represented as the Pod that a controller creates from it. The Pod has the labels and
// annotations of the template's metadata.
type PodTemplate struct {
	Pod
	// Path is the field of the PodSpec in its object: spec.template.spec.
	Path string
}
