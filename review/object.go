package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

// Parse parses an object from its JSON. The error is an *Error if it is not JSON, and a *ContentError without uid if a
// field that affects decisions has the wrong type or is set twice.
func (o Objects[T]) Parse(object []byte) (*T, error) {
	return o.parseObject(object, o.read)
}

// ParseAs is like Parse, for an object of one of the resources in Kinds.
func (o Objects[T]) ParseAs(of Resource, object []byte) (*T, error) {
	read := o.read
	if o.readerOf != nil {
		read = o.readerOf(of)
	}
	return o.parseObject(object, read)
}

func (o Objects[T]) parseObject(object []byte, read reader[T]) (*T, error) {
	v, err := parse(object, read)
	if err != nil {
		return nil, objectError(err)
	}
	return v, nil
}

func readMeta(r *jsonscan.Reader, m *object.Meta) {
	for name := range r.Fields {
		switch string(name) {
		case "name":
			m.Name = r.String()
		case "generateName":
			m.GenerateName = r.String()
		case "namespace":
			m.Namespace = r.String()
		case "labels":
			m.Labels = r.StringMap()
		case "annotations":
			m.Annotations = r.StringMap()
		case "ownerReferences":
			m.Owner = readOwner(r)
		}
	}
}

// readOwner returns the owner that is the controller, as Kind/name.
func readOwner(r *jsonscan.Reader) (controller string) {
	for range r.Items {
		var kind, owner string
		var controls bool
		for name := range r.Fields {
			switch string(name) {
			case "kind":
				kind = r.String()
			case "name":
				owner = r.String()
			case "controller":
				controls = r.Bool()
			}
		}
		if controls && controller == "" {
			controller = kind + "/" + owner
		}
	}
	return controller
}
