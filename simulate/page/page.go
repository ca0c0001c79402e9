// Package page writes a simulation as one page for a browser.
package page

import (
	"io"

	"routelimit/simulate"
)

// Write writes the page.
func Write(out io.Writer, r *simulate.Report) error { return nil }
