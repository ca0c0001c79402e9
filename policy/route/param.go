package route

// Param is one value that a template took out of a path.
//
// Value is the segment in its normal form (see [Normalize]): decoded, but for
// the bytes that Normalize keeps escaped, so that two different segments never
// give one value. It aliases the path and is valid as long as the path's
// buffer is left alone. The rest that a final "*" matched is named "*".
type Param struct {
	Name  string
	Value string
}
