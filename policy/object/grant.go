package object

// Grant is the part of a ReferenceGrant that decisions depend on. Each element of From may refer to the objects of each
// element of To in the namespace of the ReferenceGrant.
type Grant struct {
	Meta
	From, To []GrantElement
}

// GrantElement is one element of spec.from or spec.to. In spec.from, Name is a namespace, and the element represents
// the objects of a kind in it. In spec.to, the element represents one object of a kind, or all of them if Name is
// empty.
type GrantElement struct {
	Group, Kind, Name string
}
