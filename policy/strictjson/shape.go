package strictjson

// Shape is what a reader takes for one value.
type Shape struct {
	Kinds []Kind // those that were asked for

	// Of an object: its fields, or what each member must be, whose name the
	// writer chooses.
	Fields []FieldShape
	Member *Shape
	// Element is what each element of an array must be.
	Element *Shape
	// Values are the only texts allowed.
	Values []string
	// Least and Most bound a whole number, or a duration in nanoseconds.
	Least, Most int64
	IsDuration  bool
	Facts
}

// FieldShape is one field of an object, as the table of its fields has it.
type FieldShape struct {
	Name                  string
	Required              bool
	Doc, Default, Example Text
	*Shape
}

// Field returns what a field of an object must be, or nil if there is no such
// field.
func (s *Shape) Field(name string) *Shape {
	for _, field := range s.Fields {
		if field.Name == name {
			return field.Shape
		}
	}
	return nil
}

// Facts is what readers check by themselves and an outline would not see.
type Facts struct {
	Pattern    Text     // of a text
	Names      Text     // of the members' names, as a pattern
	NotNames   []string // names that members cannot have
	LeastItems int
	MostItems  int // 0: any number
	Unique     bool
}

// outlined is the kind of a value that is not there.
const outlined = Object + 1

// Outline runs a reader on a document whose value is of no kind, and returns
// what it asked for. A reader that goes on after whatever is wrong goes through
// to its end, since here everything is.
func Outline(read func(*Document)) *Shape {
	d := new(Document)
	d.root = &Node{document: d, kind: outlined}
	shape := new(Shape)
	d.root.setShape(shape)
	read(d)
	return shape
}

// StatePattern tells an outline which texts the reader takes, by a regular
// expression. On a value it does nothing.
func (n *Node) StatePattern(pattern Text) {
	if s := n.shape(); s != nil {
		s.Pattern = pattern
	}
}

// State tells an outline what else the reader checks by itself. On a value it
// does nothing.
func (n *Node) State(facts func(*Facts)) {
	if s := n.shape(); s != nil {
		facts(&s.Facts)
	}
}

// below is an outlined value in n.
func (n *Node) below(name string) (*Node, *Shape) {
	value := &Node{document: n.document, parent: n, kind: outlined, name: name}
	shape := new(Shape)
	value.setShape(shape)
	return value, shape
}

// outlineFields reads every field of a table, and returns true.
func outlineFields[T any](n *Node, into *T, fields []Field[T]) bool {
	for _, field := range fields {
		value, shape := n.below(field.Name)
		n.shape().Fields = append(n.shape().Fields, FieldShape{
			Name: field.Name, Required: field.Missing != "",
			Doc: field.Doc, Default: field.Default, Example: field.Example,
			Shape: shape,
		})
		field.Read(into, value)
	}
	return true
}

// outlineMember returns one member to be read, if n is outlined.
func (n *Node) outlineMember() []*Node {
	s := n.shape()
	if s == nil {
		return nil
	}
	member, shape := n.below("")
	s.Member = shape
	return []*Node{member}
}

// outlineElement returns one element to be read, if n is outlined.
func (n *Node) outlineElement() []*Node {
	s := n.shape()
	if s == nil {
		return nil
	}
	element, shape := n.below("")
	s.Element = shape
	return []*Node{element}
}
