// Package route finds the configured route of a request.
//
// A pattern is a method, a blank, an optional host and a path template:
//
//	POST /login                     this path
//	GET /users/:id                  one segment, named id; {id} means the same
//	GET /files/*                    the rest of the path, one segment or more
//	* /admin                        any method
//	POST api.example.com/login      on this host only
//
// What a pattern matches, and what it does not:
//
//	POST /login                  yes  POST /login   POST //login/?next=%2F   POST /x/../%6Cogin   POST /.\login
//	POST /login                  no   GET /login   POST /LOGIN   POST /login/now   POST /login%2F
//	GET /users/:id               yes  GET /users/7   HEAD /users/7   GET /users/a%2Fb   GET /users/5%
//	GET /users/:id               no   GET /users   GET /users/   GET /users/7/posts   GET /users%2F7
//	GET /files/*                 yes  GET /files/a   GET /files/a/b/c
//	GET /files/*                 no   GET /files   GET /files/   GET /file/a   GET /files/../a
//	* /admin                     yes  GET /admin   PURGE /admin/
//	POST api.example.com/login   yes  POST API.example.com:8443/login   POST api.example.com./login
//	POST api.example.com/login   no   POST example.com/login   POST /login
//
// Of several that match, one wins whatever the order in which they were added:
// a pattern with a host before one without; then the path, from its first
// segment on, static before parameter before wildcard; then the method, its own
// before, for HEAD, that of GET before "*". A branch that ends in no match is
// left for the next best one.
package route
