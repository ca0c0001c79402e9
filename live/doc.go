// Package live is a small page about a running routelimit: requests and refusals by route over time, the limits, who is being
// limited, and how the link to Redis fares.
//
//	sampler  reads the metrics every second and keeps the last minutes
//	callers  walks the keys in Redis, gently, and only while somebody looks
//	tail     follows the log for lines about refusals
//	Page     serves it all: one page, its script and its style, and the numbers as JSON
//
// The page is for the machine it runs on: it listens on loopback alone and answers no request that names another host, so
// that no web page elsewhere can read it through a browser. What it shows comes from callers, who may be attackers: the script
// writes text and nothing else, and the page's Content-Security-Policy lets no other script run.
package live
