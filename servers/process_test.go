package servers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"routelimit/servers"
	"routelimit/servers/servertest"
)

// parent makes the test binary a program that starts a Redis, prints its address and waits to be killed.
const parent = "ROUTELIMIT_TEST_PARENT_OF"

func TestMain(m *testing.M) {
	binary := os.Getenv(parent)
	if binary == "" {
		os.Exit(m.Run())
	}
	r, err := servers.StartRedis(context.Background(), servers.RedisOptions{Binary: binary, Dir: os.TempDir()})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(r.Addr())
	select {} // until it is killed
}

func TestServerEndsWhenItsProgramIsKilled(t *testing.T) {
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), parent+"="+servertest.Redis(t, ""), "TMPDIR="+t.TempDir())
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the program says %q: %v", line, err)
	}
	defer conn.Close()

	program.Process.Kill()
	program.Wait()
	// Only the server's death closes this connection; until then the read waits.
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server outlives its program: %v", err)
	}
}

func TestFreePortIsFreeAndGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 500 { // of 11700 that it could give: enough to meet one twice
		port, err := servers.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d was given twice", port)
		}
		seen[port] = true
		if err := servers.CheckPort("127.0.0.1", port); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckPortNamesATakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	err = servers.CheckPort("127.0.0.1", port)
	var taken *servers.PortInUseError
	if !errors.As(err, &taken) || taken.Port != port || !strings.Contains(err.Error(), "choose another") {
		t.Errorf("error = %v", err)
	}
	if err := servers.CheckPort("192.0.2.1", port); err == nil || errors.As(err, &taken) && taken.Host == "192.0.2.1" {
		t.Errorf("an address of another machine: error = %v", err)
	}
}
