package incidents

import (
	"bytes"
	goflag "flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// revision returns the revision of the tests and, with make e2e-up, of the image. It is read before the tests run.
func revision() string { return output("git", "describe", "--always", "--dirty") }

// describeRun records the facts that are needed to interpret the results.
func describeRun(begun time.Time, revision string) {
	size := "short (`make e2e`)"
	if long() {
		size = "long (`make e2e-long`)"
	}
	if some := goflag.Lookup("test.run").Value.String(); some != "" {
		size += ", of it only `-run " + some + "`"
	}
	if testing.Short() {
		size += ", without controls and variants (`-short`)"
	}
	book.Describe("run", fmt.Sprintf("%s, %s, took %s", begun.UTC().Format("2006-01-02 15:04 MST"), size,
		time.Since(begun).Round(time.Second)))
	book.Describe("Evergate", revision)
	book.Describe("cert-manager", output("go", "list", "-m", "-f", "{{.Version}}", "github.com/cert-manager/cert-manager"))
	book.Describe("machine", fmt.Sprintf("%d cores, %s, Linux %s; load average at the end: %s",
		runtime.NumCPU(), firstLine("/proc/meminfo"), firstLine("/proc/sys/kernel/osrelease"), firstLine("/proc/loadavg")))
	book.Describe("clients", fmt.Sprintf("%d through the API server, as fast as it answers; %d straight to the Service, "+
		"with a pause of 20 ms", apiClients, straightClients))
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return string(bytes.TrimSpace(out))
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.Join(strings.Fields(line), " ")
}
