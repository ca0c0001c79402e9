// Package servers finds, fetches, starts and ends the servers that routelimit is run and tested with:
// Envoy, Redis, a Redis Cluster, and an HTTP upstream that remembers what it was sent.
//
// Everything here listens on loopback, keeps its files in a directory of its own, and ends with Stop, or, on Linux, with
// the program that started it, however that program ends. Nothing depends on package testing: package servertest wraps
// the same functions for tests.
//
// Data flows one way: a Toolbox finds a binary, Start… runs it and waits until it serves, Stop ends it.
package servers
