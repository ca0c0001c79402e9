package filter_test

import "testing"

func TestSmoke(t *testing.T) {
	r := onRedis(t, `{"routes": {"GET /a": {"identity": "ip", "limit": 2, "window": "1m"}}, "default": null}`)
	r.want("passed", r.get("/a"))
	r.want("passed", r.get("/a"))
	r.want("429", r.get("/a"))
	t.Log(r.keys(), r.stored(r.keys()[0]), r.host.Metrics())
}
