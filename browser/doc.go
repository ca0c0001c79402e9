// Package browser holds tests of the program's pages in a real browser: the live page of run, and the report of simulate.
// They need Chromium and a built program, so make test-page runs them and make test does not.
package browser
