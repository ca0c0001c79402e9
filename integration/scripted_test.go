package integration

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"routelimit/bootstrap"
	"routelimit/limit"
)

// scriptedNode is a Redis node that a test plays: it answers EVALSHA and EVAL as the test says, by the caller in the key.
type scriptedNode struct {
	listener net.Listener

	mutex   sync.Mutex
	replies map[string]func(command []string) string // by caller
	seen    map[string][]string                      // by caller: "EVALSHA", and what came before it on its connection: "ASKING"
}

// scriptedNodes are two, of which Envoy is told the first alone.
var scriptedNodes [2]*scriptedNode

// addScriptedLink starts the nodes with the first Envoy that is configured, and adds a link to the first of them.
func addScriptedLink(c *bootstrap.Config) error {
	for i := range scriptedNodes {
		if scriptedNodes[i] != nil {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		n := &scriptedNode{listener: listener, replies: map[string]func([]string) string{}, seen: map[string][]string{}}
		scriptedNodes[i] = n
		started = append(started, n)
		go n.accept()
	}
	link, err := c.AddLink("scripted")
	if err != nil {
		return err
	}
	link.Proxy["op_timeout"] = "2s"
	store, err := c.Cluster(link.Store)
	if err != nil {
		return err
	}
	delete(store, "cluster_type")
	delete(store, "lb_policy")
	return c.SetEndpoints(link.Store, scriptedNodes[0].addr())
}

func (n *scriptedNode) addr() string { return n.listener.Addr().String() }

// Stop lets nobody in any more. Connections end with their other side.
func (n *scriptedNode) Stop() { n.listener.Close() }

func (n *scriptedNode) accept() {
	for {
		conn, err := n.listener.Accept()
		if err != nil {
			return // stopped
		}
		go n.serve(conn)
	}
}

func (n *scriptedNode) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	before := ""
	for {
		command, err := readCommand(in)
		if err != nil {
			return // Envoy has closed it
		}
		name := strings.ToUpper(command[0])
		reply := "+OK\r\n"
		if name == "EVAL" || name == "EVALSHA" {
			reply = n.answer(before+name, command)
			name = ""
		} else {
			name += " "
		}
		before = name
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// answer notes a call and asks the script for its reply.
func (n *scriptedNode) answer(what string, command []string) string {
	_, rest, _ := strings.Cut(command[3], "|caller:")
	caller := strings.TrimSuffix(rest, "}")
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.seen[caller] = append(n.seen[caller], what)
	reply := n.replies[caller]
	if reply == nil {
		return "-ERR no test has said what to answer\r\n"
	}
	return reply(command)
}

// play says what a node answers to a caller from now on.
func (n *scriptedNode) play(caller string, reply func(command []string) string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.replies[caller] = reply
}

// calls are what a node has seen of a caller.
func (n *scriptedNode) calls(caller string) []string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return append([]string{}, n.seen[caller]...)
}

// readCommand reads an array of bulk strings.
func readCommand(in *bufio.Reader) ([]string, error) {
	count, err := readLength(in, '*')
	if err != nil {
		return nil, err
	}
	var command []string
	for range count {
		size, err := readLength(in, '$')
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		command = append(command, string(text[:size]))
	}
	if len(command) == 0 {
		return nil, fmt.Errorf("an empty command")
	}
	return command, nil
}

func readLength(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil || line[0] != kind {
		return 0, fmt.Errorf("%q is no length: %w", line, err)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// always answers every call with an error.
func always(reply string) func([]string) string {
	return func([]string) string { return reply + "\r\n" }
}

// admits passes a request under one limit of 10.
func admits([]string) string {
	d := limit.Decision{Allowed: true, AtMS: time.Now().UnixMilli(), Verdicts: []limit.Verdict{{Pass: true, Remaining: 9, Reset: time.Second}}}
	return string(d.AppendReply(nil))
}

// knowsNoScript admits only calls with the script's text.
func knowsNoScript(command []string) string {
	if strings.EqualFold(command[0], "EVALSHA") {
		return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
	}
	return admits(command)
}
