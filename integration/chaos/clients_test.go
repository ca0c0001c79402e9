package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// dial opens a connection to the listener with one Redis behind it.
func (c *chaos) dial(envoy int) (net.Conn, error) {
	return net.DialTimeout("tcp", strings.TrimPrefix(c.load.urls[envoy][single], "http://"), answerTime)
}

// vanish leaves at every stage of a request: in its head, after it, in the body, after that, and in the answer; for a while
// Redis is frozen, so that some leave while it is asked.
func vanish(c *chaos) error {
	var wrong []error
	var numbers []string
	frozen := make(chan error, 1)
	begin, lasts := c.between(50, 150), c.between(100, 200)
	go func() {
		c.wait(begin)
		frozen <- c.frozen(rig.single, lasts)
	}()
	for i := range 120 {
		number := strconv.FormatInt(c.load.number.Add(1), 10)
		numbers = append(numbers, number)
		head := "GET /closed/sliding_window HTTP/1.1\r\nhost: a\r\nx-caller: " + c.phase.name + fmt.Sprint(i) + "\r\n" + numberHeader + ": " + number + "\r\n"
		upload := strings.Replace(head, "GET /closed/sliding_window", "POST /upload", 1) +
			"content-type: application/json\r\ncontent-length: 100\r\n\r\n" + `{"user":"` + strings.Repeat("v", 89) + `"}`
		text := []string{head[:len(head)-20], head + "\r\n", upload[:len(upload)-50], upload, head + "\r\n"}[i%5]
		conn, err := c.dial(i % len(rig.envoys))
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		_, err = io.WriteString(conn, text)
		if i%5 == 4 {
			_, err = conn.Read(make([]byte, 10))
		} else {
			c.wait(time.Duration(c.random.IntN(4000)) * time.Microsecond)
		}
		if tcp := conn.(*net.TCPConn); c.random.IntN(2) == 0 {
			tcp.SetLinger(0) // a reset
		}
		wrong = append(wrong, err, conn.Close())
	}
	wrong = append(wrong, <-frozen)
	c.wait(2 * timeout)
	for _, number := range numbers {
		if times, _ := rig.upstream.saw(number); times > 1 {
			wrong = append(wrong, fmt.Errorf("the upstream saw request %s %d times", number, times))
		}
	}
	return errors.Join(wrong...)
}

// slowly hands out its bytes one piece after another, with pauses.
type slowly struct {
	c       *chaos
	context context.Context
	left    int
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	select {
	case <-s.context.Done():
	case <-time.After(20 * time.Millisecond):
	}
	return copy(p, " "), nil
}

const hugeBody = 8 << 20

// uploads sends bodies that come slowly and such that are huge, while Redis freezes for a moment. Each passes whole, or the
// upstream sees nothing of it.
func uploads(c *chaos) error {
	var wait sync.WaitGroup
	var mutex sync.Mutex
	var wrong []error
	for i := range 16 {
		path := []string{"/upload", "/upload", "/once", "/once"}[i%4]
		wait.Go(func() {
			length := int64(hugeBody)
			var body io.Reader = io.LimitReader(zeroes{}, hugeBody)
			if i%2 == 0 {
				start := `{"user":"` + fmt.Sprint(c.phase.name, i) + `"`
				body = io.MultiReader(strings.NewReader(start), &slowly{c, c.t.Context(), 40}, strings.NewReader("}"))
				length = int64(len(start) + 40 + 1)
			}
			err := c.upload(i/4%len(rig.envoys), path, body, length, i%2 == 0)
			mutex.Lock()
			defer mutex.Unlock()
			wrong = append(wrong, err)
		})
	}
	c.wait(c.between(0, 300))
	wrong = append(wrong, c.frozen(rig.single, c.between(100, 300)))
	wait.Wait()
	return errors.Join(wrong...)
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// upload sends one body and judges what came of it.
func (c *chaos) upload(envoy int, path string, body io.Reader, length int64, chunked bool) error {
	s := &sample{subject: subject{listener: single, path: path, caller: c.phase.name}, envoy: envoy}
	s.number = strconv.FormatInt(c.load.number.Add(1), 10)
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.load.urls[envoy][single]+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("content-type", "application/json")
	req.Header.Set("x-caller", s.caller)
	req.Header.Set(numberHeader, s.number)
	if !chunked {
		req.ContentLength = length
	}
	s.sent = time.Now()
	s.take(c.load.clients[envoy].Do(req))
	times, bytes := rig.upstream.saw(s.number)
	refused := s.status == http.StatusTooManyRequests && path == "/once" || s.status == http.StatusServiceUnavailable && s.body == unavailable
	switch {
	case s.status == http.StatusOK && s.decided && times == 1 && bytes == length:
		return nil
	case refused && times == 0:
		return nil
	}
	return fmt.Errorf("%v; the upstream saw it %d times, %d of %d bytes", s, times, bytes, length)
}

// resets opens HTTP/2 streams and resets them at any time. Those that are left alone are answered.
func resets(c *chaos) error {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: answerTime}
	var wait sync.WaitGroup
	var mutex sync.Mutex
	var wrong []error
	for i := range 300 {
		ctx, cancel := context.WithCancel(c.t.Context())
		after := time.Duration(c.random.IntN(3000)) * time.Microsecond
		wait.Go(func() {
			defer cancel()
			s := &sample{subject: subject{listener: single, path: "/open", caller: c.phase.name + fmt.Sprint(i)}}
			s.number = strconv.FormatInt(c.load.number.Add(1), 10)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.load.urls[0][single]+s.path, nil)
			if err != nil {
				panic(err) // the path is written here
			}
			req.Header.Set("x-caller", s.caller)
			req.Header.Set(numberHeader, s.number)
			s.sent = time.Now()
			s.take(client.Do(req))
			times, _ := rig.upstream.saw(s.number)
			left := i%3 == 0
			if times > 1 || left && (s.check() != nil || s.status != http.StatusOK) {
				mutex.Lock()
				wrong = append(wrong, fmt.Errorf("%v; the upstream saw it %d times", s, times))
				mutex.Unlock()
			}
		})
		c.wait(time.Millisecond)
		if i%3 != 0 {
			time.AfterFunc(after, cancel)
		}
	}
	wait.Wait()
	return errors.Join(wrong...)
}
