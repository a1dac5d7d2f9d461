package cmd

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMessagesOfRunbooks checks that a server logs each message in the index of the runbooks, except for messages
// that other tests cover.
func TestMessagesOfRunbooks(t *testing.T) {
	elsewhere := []string{
		"the self-probe failed", // TestWatchdogLog in package lifecycle
		"review is stuck",       // TestStuckReviews in package handlers
		"spans were dropped",    // TestCollectorIsAway in package telemetry
	}
	index, err := os.ReadFile("../docs/runbooks/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(index), "\n### In the log of Evergate\n")
	section, _, _ = strings.Cut(section, "\n#")
	var messages []string
	for line := range strings.Lines(section) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cell, -1) {
			messages = append(messages, m[1])
		}
	}
	if len(messages) < 10 {
		t.Fatalf("only %d messages in the index: %q", len(messages), messages)
	}
	logged := troubledServer(t)
	for _, message := range messages {
		if !strings.Contains(logged, `"msg":"`+message+`"`) && !slices.Contains(elsewhere, message) {
			t.Errorf("nothing has logged %q", message)
		}
	}
}

// troubledServer runs a server with all problems of files and clients, and returns its log.
func troubledServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	cert, key := certificate(t)
	write(t, file("policy.yaml"), []byte(warned))
	s := startServe(t, nil, "--tls-cert", file("tls.crt"), "--tls-key", file("tls.key"),
		"--client-ca-file", file("ca.crt"), "--policy", file("policy.yaml"), "--reload-interval", "10ms")
	logs := func(message string) { s.await(t, s.stderr, regexp.QuoteMeta(`"msg":"`+message)) }
	logs("policy warning")
	logs("waiting for a serving certificate")
	write(t, file("tls.key"), key)
	write(t, file("tls.crt"), cert)
	logs("waiting for a client CA")
	write(t, file("ca.crt"), cert)
	address := s.await(t, s.stderr, `"to":"listening".*"address":"([^"]+)"`)
	s.await(t, s.stderr, `"to":"ready"`)

	write(t, file("policy.yaml"), []byte("kind: Pod"))
	logs("policy failed to load")
	write(t, file("policy.yaml"), bytes.Repeat([]byte("#"), 5<<20)) // above the limit of a file
	logs("policy cannot be read")
	write(t, file("tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("none")}))
	logs("serving certificate failed to load")
	write(t, file("ca.crt"), nil)
	logs("client CA failed to load")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if status, _ := call(t, client, "https://"+address+"/mutate/pods", exampleReview(t, "pod")); status != 401 {
		t.Errorf("a client without a certificate: %d", status)
	}
	client.CloseIdleConnections()
	logs("client not authenticated")
	s.stop()
	<-s.ended
	return s.stderr.String()
}

// warned is a policy with a warning.
const warned = `
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, sources: [docker.io], mirror: m.example/hub, mode: enforce}
pods:
- {name: evil, mode: audit, images: {denied: [docker.io/evil/x]}}
`
