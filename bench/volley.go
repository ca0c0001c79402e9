package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"routelimit/limit/audit"
)

// volley is what became of an attack.
type volley struct {
	mutex    sync.Mutex
	admitted []audit.Admission
	refused  int
	failed   error
}

// sendVolley sends requests of one caller through all Envoys of a contender, over all connections at once, each as soon as
// the one before is answered.
func sendVolley(ctx context.Context, c *contender, a attack, caller string) (*volley, error) {
	unit, header := "minute", "x-minute"
	if a.window == time.Second {
		unit, header = "second", "x-second"
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := &volley{}
	end := time.Now().Add(a.length)
	var wait sync.WaitGroup
	for _, url := range c.urls {
		transport := &http.Transport{MaxIdleConnsPerHost: overshootConnections}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
		for range overshootConnections {
			wait.Go(func() {
				for time.Now().Before(end) {
					if err := v.send(ctx, client, url+"/"+c.algorithm.String()+"/"+unit, header, caller); err != nil {
						v.mutex.Lock()
						v.failed = errors.Join(v.failed, err)
						v.mutex.Unlock()
						cancel() // one failure is enough: nothing is counted then
						return
					}
				}
			})
		}
	}
	wait.Wait()
	return v, v.failed
}

func (v *volley) send(ctx context.Context, client *http.Client, url, header, caller string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set(header, caller)
	sent := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("a request got no answer: %w; quiet the machine, or look into the limiter", err)
	}
	answered := time.Now()
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	v.mutex.Lock()
	defer v.mutex.Unlock()
	switch resp.StatusCode {
	case http.StatusOK:
		v.admitted = append(v.admitted, audit.Admission{Sent: sent, Answered: answered})
	case http.StatusTooManyRequests:
		v.refused++
	default:
		return fmt.Errorf("a request was answered %d; look into the limiter", resp.StatusCode)
	}
	return err
}
