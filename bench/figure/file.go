package figure

import (
	"encoding/json"
	"fmt"
	"os"
)

// CheckWritable fails before a measurement, not after it. "": nothing is to be written.
func CheckWritable(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; choose another file", file, err)
	}
	return f.Close()
}

// WriteJSON writes all figures to a file; "": nowhere.
func WriteJSON(file string, figures any) error {
	if file == "" {
		return nil
	}
	raw, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the figures as JSON: %w; report this with the table above", err)
	}
	return WriteFile(file, append(raw, '\n'))
}

// WriteFile writes a plot or the like to a file; "": nowhere.
func WriteFile(file string, content []byte) error {
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return fmt.Errorf("cannot write %s: %w; make room there", file, err)
	}
	return nil
}
