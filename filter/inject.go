//go:build wasip1 && inject

package main

import "routelimit/shim"

// injections are where a test writes what is to happen: a property of the request,
// or of the plugin, and, on a real proxy, a header.
var injections = [...]string{"inject", "request\x00headers\x00x-inject"}

// panicAt panics where an injection names the place, and traps where it says
// "trap at" the place. Only tests build the module with the tag inject.
func panicAt(place string) {
	for _, property := range injections {
		named, ok := shim.Property(property)
		switch {
		case !ok:
		case string(named) == place:
			panic("injected at " + place)
		case string(named) == "trap at "+place:
			overflow(0)
		}
	}
}

// overflow runs over the VM's own stack, which nothing in the module can recover
// from.
func overflow(n int) int { return overflow(n+1) + n }
