//go:build wasip1 && inject

package main

import "routelimit/shim"

// panicAt panics where the property "inject" of the request, or of the plugin,
// names the place. Only tests build the module with the tag inject.
func panicAt(place string) {
	if named, ok := shim.Property("inject"); ok && string(named) == place {
		panic("injected at " + place)
	}
}
