// Package standalone runs the module without Envoy: an HTTP server that has each request decided by routelimit.wasm under
// wazero, against a real Redis and by a running clock.
//
//	Server    listens, and spreads requests over its workers
//	worker    one VM and what goes on in it, in one goroutine
//	exchange  one request and its response on their way through the filter
//	passage   what has come out of the filter in one direction, until it is sent on
//	link      the far end of the module's stream to Redis, in the place of Envoy's redis_proxy
//
// What an Envoy would do besides is not there: no other HTTP filter runs, so nothing is known that a filter in front would
// have verified (metadata: identities); there is one upstream and no Envoy route, so limits in an Envoy route's metadata
// apply to nothing; paths reach the upstream as they came; no upgrades and no CONNECT. Where the module traps, whoever waits
// in that worker gets 503 at once.
package standalone
