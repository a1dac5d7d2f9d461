package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

// filterTexts reads the texts in a field of a filter.
type filterTexts struct {
	of    *object.RouteFilter
	field string
}

// add adds the text in part of the field, of element i if the part is a list. It leaves out an empty text.
func (t filterTexts) add(part string, i int, text string) {
	if text != "" {
		all := jsonscan.Grown(t.of.Texts)
		t.of.Texts = append(all, object.FilterText{Field: t.field, In: part, Index: int32(i), Value: text})
	}
}

// addAll adds each text of a list.
func (t filterTexts) addAll(r *jsonscan.Reader, part string) {
	for i := range r.Items {
		t.add(part, i, r.String())
	}
}

// readContent reads the field by one of the methods below, and adds its JSON to the content of the filter. A filter has
// one such field.
func (t filterTexts) readContent(r *jsonscan.Reader, read func(filterTexts, *jsonscan.Reader)) {
	raw := r.RawOf(func() { read(t, r) })
	t.of.Content += r.Text(raw)
}

// readHeaders reads a requestHeaderModifier or a responseHeaderModifier.
func (t filterTexts) readHeaders(r *jsonscan.Reader) {
	for name := range r.Fields {
		switch string(name) {
		case "set":
			t.addHeaders(r, "set[].name", "set[].value")
		case "add":
			t.addHeaders(r, "add[].name", "add[].value")
		case "remove":
			t.addAll(r, "remove[]")
		}
	}
}

func (t filterTexts) addHeaders(r *jsonscan.Reader, names, values string) {
	for i := range r.Items {
		for name := range r.Fields {
			switch string(name) {
			case "name":
				t.add(names, i, r.String())
			case "value":
				t.add(values, i, r.String())
			}
		}
	}
}

// readRedirect reads a requestRedirect.
func (t filterTexts) readRedirect(r *jsonscan.Reader) {
	for name := range r.Fields {
		switch string(name) {
		case "scheme":
			t.add("scheme", 0, r.String())
		case "hostname":
			t.add("hostname", 0, r.String())
		case "path":
			t.readPath(r)
		}
	}
}

// readRewrite reads a urlRewrite.
func (t filterTexts) readRewrite(r *jsonscan.Reader) {
	for name := range r.Fields {
		switch string(name) {
		case "hostname":
			t.add("hostname", 0, r.String())
		case "path":
			t.readPath(r)
		}
	}
}

func (t filterTexts) readPath(r *jsonscan.Reader) {
	for name := range r.Fields {
		switch string(name) {
		case "replaceFullPath":
			t.add("path.replaceFullPath", 0, r.String())
		case "replacePrefixMatch":
			t.add("path.replacePrefixMatch", 0, r.String())
		}
	}
}

// readCORS reads a cors.
func (t filterTexts) readCORS(r *jsonscan.Reader) {
	for name := range r.Fields {
		switch string(name) {
		case "allowOrigins":
			t.addAll(r, "allowOrigins[]")
		case "allowMethods":
			t.addAll(r, "allowMethods[]")
		case "allowHeaders":
			t.addAll(r, "allowHeaders[]")
		case "exposeHeaders":
			t.addAll(r, "exposeHeaders[]")
		}
	}
}

// readAuth reads a field of an externalAuth.
func (t filterTexts) readAuth(r *jsonscan.Reader, field []byte) {
	switch string(field) {
	case "http":
		for name := range r.Fields {
			switch string(name) {
			case "path":
				t.add("http.path", 0, r.String())
			case "allowedHeaders":
				t.addAll(r, "http.allowedHeaders[]")
			case "allowedResponseHeaders":
				t.addAll(r, "http.allowedResponseHeaders[]")
			}
		}
	case "grpc":
		for name := range r.Fields {
			if string(name) == "allowedHeaders" {
				t.addAll(r, "grpc.allowedHeaders[]")
			}
		}
	}
}
