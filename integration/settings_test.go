package integration

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// setting is a row of the reference's tables of who is the client.
type setting struct {
	about, remote string
	detection     string // Envoy's setting; "" is none
	hops          string // trusted_hops; "" is not written
	peer, sent    string // who connects, and X-Forwarded-For; "" is none
	client        string // "unknown": there is none
	at            *place
}

var settings = readSettings()

// readSettings reads the tables and gives each combination of settings a listener.
func readSettings() []*setting {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		panic(err) // the tests run where they stand
	}
	var all []*setting
	places := map[string]*place{}
	columns := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "| \n"), "`", ""), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case strings.HasPrefix(line, "| in front | `use_remote_address` | `trusted_hops` |"):
			columns = 1
		case strings.HasPrefix(line, "| in front | `use_remote_address` | Envoy's setting |"):
			columns = 2
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns > 0 && !strings.HasPrefix(line, "|---"):
			client, _, _ := strings.Cut(cells[5], ":")
			s := &setting{about: cells[0], remote: cells[1], hops: cells[2], peer: loop(cells[3]), sent: loop(cells[4]), client: loop(client)}
			if columns == 2 {
				s.hops, s.detection = "", cells[2]
			}
			name := "client_" + s.remote + s.hops + s.detection
			if places[name] == nil {
				places[name] = s.listen(name)
			}
			s.at = places[name]
			all = append(all, s)
		}
	}
	return all
}

// loop makes addresses of this machine out of those of the page.
func loop(text string) string {
	return strings.NewReplacer("203.0.113.", "127.203.0.", "198.51.100.", "127.198.0.", "192.0.2.", "127.192.0.").Replace(text)
}

func (s *setting) listen(name string) *place {
	client := "{}"
	if s.hops != "" {
		client = `{"trusted_hops": ` + s.hops + `}`
	}
	policy := `{"client": ` + client + `, "default": {"identity": "ip", "limit": 1000, "window": "24h", "on_error": "closed"}}`
	return listen(name, policy, func(manager tree) {
		manager["use_remote_address"] = s.remote == "true"
		setting, number, _ := strings.Cut(s.detection, ": ")
		switch setting {
		case "xff_num_trusted_hops":
			manager[setting] = number
		case "original_ip_detection.xff":
			manager["original_ip_detection_extensions"] = []any{detection("xff.v3.XffConfig", "xff_num_trusted_hops", number)}
		case "original_ip_detection.custom_header":
			manager["original_ip_detection_extensions"] = []any{detection("custom_header.v3.CustomHeaderConfig", "header_name", "x-client-ip")}
		}
	})
}

func detection(kind, field, value string) tree {
	name, _, _ := strings.Cut(kind, ".")
	return tree{"name": "envoy.http.original_ip_detection." + name, "typed_config": tree{
		"@type": "type.googleapis.com/envoy.extensions.http.original_ip_detection." + kind, field: value,
	}}
}

// TestG03EverySettingOfTheReferenceFindsTheClientOnARealEnvoy takes each row as a request, with loopback addresses in the
// place of the page's.
func TestG03EverySettingOfTheReferenceFindsTheClientOnARealEnvoy(t *testing.T) {
	e := fresh(t)
	if len(settings) < 18 {
		t.Fatalf("%d rows were found", len(settings))
	}
	for i, s := range settings {
		t.Run(fmt.Sprintf("%d %s, %s %s%s", i, s.about, s.remote, s.hops, s.detection), func(t *testing.T) {
			flush(t, store.get(t))
			h := []string{"x-client-ip", loop("203.0.113.7")}
			if s.sent != "" {
				h = append(h, "x-forwarded-for", s.sent)
			}
			if a := dial(t, e, s.at, s.peer).get("/", h...); a.status != http.StatusOK {
				t.Fatalf("status %d %s", a.status, a.body)
			}
			if err := differ([]string{"rl:{default|ip:" + s.client + "}"}, keysNow(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
