package object

// Grant is the part of a ReferenceGrant that decisions depend on. Each element of From may refer to the objects of each
// element of To in the namespace of the ReferenceGrant.
type Grant struct {
	Meta
	From []GrantFrom
	To   []GrantTo
}

// GrantFrom is one element of spec.from: the objects of a kind in a namespace.
type GrantFrom struct {
	Group, Kind, Namespace string
}

// GrantTo is one element of spec.to: one object of a kind, or all objects of the kind if Name is empty.
type GrantTo struct {
	Group, Kind, Name string
}
