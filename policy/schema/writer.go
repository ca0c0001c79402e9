package schema

import (
	"encoding/json"
	"time"

	"routelimit/policy/strictjson"
)

// writer turns shapes into schemas, and refers to definitions in the place of
// what they say already.
type writer struct {
	defined []definition
}

type definition struct {
	name   string
	schema object
	// whole is the same without references, for comparison.
	whole object
}

// define adds a definition. Those before it serve it.
func (w *writer) define(name string, s *strictjson.Shape, rules object) {
	w.defined = append(w.defined, definition{name, append(w.value(s), rules...), whole(s)})
}

// whole is the schema of a value without references.
func whole(s *strictjson.Shape) object { return new(writer).value(s) }

func (w *writer) definitions() object {
	var all object
	for _, d := range w.defined {
		all = append(all, member{d.name, d.schema})
	}
	return all
}

// amend adds rules to a property.
func (w *writer) amend(o object, property string, rules object) {
	properties := o.get("properties").(object)
	for i, m := range properties {
		if m.name == property {
			properties[i].value = append(m.value.(object), rules...)
		}
	}
}

var typeNames = map[strictjson.Kind]string{
	strictjson.Null: "null", strictjson.Bool: "boolean", strictjson.Number: "integer",
	strictjson.String: "string", strictjson.Array: "array", strictjson.Object: "object",
}

// value is the schema of one value.
func (w *writer) value(s *strictjson.Shape) object {
	var types []string
	var o object
	for _, kind := range s.Kinds {
		types = append(types, typeNames[kind])
		switch kind {
		case strictjson.Number:
			o = append(o, object{{"minimum", s.Least}, {"maximum", s.Most}}...)
		case strictjson.String:
			o = append(o, text(s)...)
		case strictjson.Array:
			o = append(o, w.list(s)...)
		case strictjson.Object:
			o = append(o, w.object(s)...)
		}
	}
	if len(types) == 1 {
		return append(object{{"type", types[0]}}, o...)
	}
	return append(object{{"type", types}}, o...)
}

// durationPattern is the form of a duration. How long it is, letters cannot say.
const durationPattern = "^([0-9]+(ms|s|m|h|d))+$"

func text(s *strictjson.Shape) object {
	switch {
	case s.IsDuration:
		return object{{"pattern", durationPattern}}
	case s.Values != nil:
		return object{{"enum", s.Values}}
	case s.Pattern != "":
		return object{{"pattern", s.Pattern}}
	}
	return nil
}

func (w *writer) list(s *strictjson.Shape) object {
	o := object{{"items", w.shared(s.Element)}}
	if s.LeastItems > 0 {
		o = append(o, member{"minItems", s.LeastItems})
	}
	if s.MostItems > 0 {
		o = append(o, member{"maxItems", s.MostItems})
	}
	if s.Unique {
		o = append(o, member{"uniqueItems", true})
	}
	return o
}

func (w *writer) object(s *strictjson.Shape) object {
	if s.Member != nil {
		names := object{{"pattern", s.Names}}
		if s.NotNames != nil {
			names = append(names, member{"not", object{{"enum", s.NotNames}}})
		}
		o := object{{"propertyNames", names}, {"additionalProperties", w.shared(s.Member)}}
		if s.LeastItems > 0 {
			o = append(o, member{"minProperties", s.LeastItems})
		}
		if s.MostItems > 0 {
			o = append(o, member{"maxProperties", s.MostItems})
		}
		return o
	}
	var properties object
	var required []string
	for _, field := range s.Fields {
		if len(field.Kinds) == 0 {
			continue // known, and refused whatever its value
		}
		properties = append(properties, member{field.Name, w.property(field)})
		if field.Required {
			required = append(required, field.Name)
		}
	}
	o := object{{"properties", properties}}
	if required != nil {
		o = append(o, member{"required", required})
	}
	return append(o, member{"additionalProperties", false})
}

// shared is the schema of a value, or a reference to the definition that is it.
func (w *writer) shared(s *strictjson.Shape) object {
	for _, d := range w.defined {
		if equal(d.whole, whole(s)) {
			return reference(d.name)
		}
	}
	return w.value(s)
}

// property is the schema of a field, or a reference to that field in a
// definition.
func (w *writer) property(field strictjson.FieldShape) object {
	for _, d := range w.defined {
		properties, _ := d.whole.get("properties").(object)
		if equal(properties.get(field.Name), new(writer).property(field)) {
			return reference(d.name + "/properties/" + field.Name)
		}
	}
	o := append(object{{"description", describe(field)}}, w.value(field.Shape)...)
	if field.Default != "" {
		o = append(o, member{"default", json.RawMessage(field.Default)})
	}
	return append(o, member{"examples", []json.RawMessage{json.RawMessage(field.Example)}})
}

func describe(field strictjson.FieldShape) string {
	if !field.IsDuration {
		return field.Doc
	}
	return field.Doc + "; from " + strictjson.FormatDuration(time.Duration(field.Least)) +
		" to " + strictjson.FormatDuration(time.Duration(field.Most))
}

func reference(to string) object { return object{{"$ref", "#/definitions/" + to}} }
