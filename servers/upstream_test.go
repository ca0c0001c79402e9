package servers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// h2c is a client that speaks HTTP/2 without TLS.
func h2c() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}}
}

func TestUpstreamEchoesAndRemembers(t *testing.T) {
	body := strings.Repeat("x", 100<<10) // more than the head that a Status function sees
	sum := sha256.Sum256([]byte(body))
	for name, client := range map[string]*http.Client{"HTTP/1.1": http.DefaultClient, "HTTP/2.0": h2c()} {
		t.Run(name, func(t *testing.T) {
			u := servertest.StartUpstream(t, servers.UpstreamOptions{Header: http.Header{"X-Ratelimit-Limit": {"9", "10"}}})
			req, err := http.NewRequest("POST", u.URL()+"/a?b=c", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("x-api-key", "k")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var echo servers.Seen
			if err := json.NewDecoder(resp.Body).Decode(&echo); err != nil {
				t.Fatal(err)
			}
			if echo.Method != "POST" || echo.Path != "/a?b=c" || echo.Proto != name || echo.Header.Get("x-api-key") != "k" ||
				echo.Bytes != int64(len(body)) || echo.SHA256 != hex.EncodeToString(sum[:]) || echo.Error != "" {
				t.Errorf("echo = %+v", echo)
			}
			if got := resp.Header["X-Ratelimit-Limit"]; len(got) != 2 {
				t.Errorf("added header = %v", got)
			}
			if u.Count() != 1 || u.Started() != 1 || len(u.Requests()) != 1 || u.Requests()[0].SHA256 != echo.SHA256 {
				t.Errorf("count %d, started %d, requests %+v", u.Count(), u.Started(), u.Requests())
			}
			u.Reset()
			if u.Count() != 0 || len(u.Requests()) != 0 {
				t.Error("Reset forgets nothing")
			}
		})
	}
}

func TestUpstreamAnswersWithTheStatusAskedFor(t *testing.T) {
	u := servertest.StartUpstream(t, servers.UpstreamOptions{})
	for _, tt := range []struct {
		path, header string
		want         int
	}{
		{"/", "", 200}, {"/status/401", "", 401}, {"/status/204?x", "", 204}, {"/status/abc", "", 200},
		{"/", "503", 503}, {"/status/401", "201", 201}, {"/status/99", "", 200}, {"/", "999", 200},
	} {
		req, err := http.NewRequest("GET", u.URL()+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-want-status", tt.header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s, header %q: %d, want %d", tt.path, tt.header, resp.StatusCode, tt.want)
		}
	}
}

func TestUpstreamRemembersTheNewestOnly(t *testing.T) {
	u := servertest.StartUpstream(t, servers.UpstreamOptions{})
	for range 1030 {
		resp, err := http.Get(u.URL() + "/old")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	resp, err := http.Get(u.URL() + "/new")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	got := u.Requests()
	if u.Count() != 1031 || len(got) != 1024 || got[1023].Path != "/new" || got[0].Path != "/old" {
		t.Errorf("count %d, %d remembered, last %q", u.Count(), len(got), got[len(got)-1].Path)
	}
}

func TestUpstreamOnTakenPortNamesIt(t *testing.T) {
	u := servertest.StartUpstream(t, servers.UpstreamOptions{})
	_, err := servers.StartUpstream(servers.UpstreamOptions{Addr: u.Addr()})
	var taken *servers.PortInUseError
	if !errors.As(err, &taken) {
		t.Errorf("error = %v", err)
	}
}

func TestUpstreamStoppedRefusesConnections(t *testing.T) {
	u, err := servers.StartUpstream(servers.UpstreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	u.Stop()
	if _, err := http.Get(u.URL()); err == nil {
		t.Error("it answers after Stop")
	}
}
