//go:build wasip1 && !inject

package main

// panicAt marks a place where a test's build of the module can panic.
func panicAt(string) {}
