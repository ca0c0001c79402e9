// Package strictjson reads JSON that people write by hand, strictly, and says
// where it is wrong: every problem has a path, a line and a column, and all
// problems of a document are found in one go.
//
// [Parse] accepts exactly RFC 8259, in UTF-8, without a byte order mark, with
// no key twice in one object and at most 32 levels of nesting. The result is a
// tree of [Node]. A node's typed readers (Text, Whole, Duration ...) report
// what does not fit and go on; [ReadObject] reads an object by a table of its
// fields, so that the fields that are known are written down once.
package strictjson
