// Package policytest runs unit tests of a policy: requests at given times, and what each must get, played through the real
// module in host-test, with a clock of its own.
//
// A file of tests is YAML:
//
//	policy: policy.json             # a file, or the policy itself
//	callers:
//	  alice: {from: 203.0.113.7, json: {username: alice}}
//	tests:
//	  - name: ten logins in five minutes
//	    steps:
//	      - {send: 10 x POST /login, as: alice, upstream: 401, expect: 401}
//	      - {send: POST /login, as: alice, expect: {status: 429, retry_after: 300, limit: pair}}
//	      - {at: 5m, send: POST /login, as: alice, upstream: 401, expect: 401}
//	      - redis: down
//	      - {send: POST /login, as: alice, expect: 503}
//
// It is read strictly: what is unknown, repeated or of the wrong kind is a Problem with its line and column.
// docs/testing-policies.md describes each field.
package policytest
