// Command peer is a webhook that uses controller-runtime, like many webhooks. It decodes a Pod, rewrites its images,
// and lets the library calculate the patch. When it gets SIGTERM, the library stops its server. Benchmarks and tests
// compare Evergate with it.
//
// It accepts the command line of evergate serve, uses the flags below, and logs the same lines when it is ready.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	if err := serve(signals.SetupSignalHandler(), flags(os.Args[1:])); err != nil {
		log.Fatal(err)
	}
}

// flags returns the values of the flags that have one.
func flags(args []string) map[string]string {
	values := map[string]string{}
	for i, arg := range args {
		if name, ok := strings.CutPrefix(arg, "--"); ok && i+1 < len(args) {
			values[name] = args[i+1]
		}
	}
	return values
}

func serve(ctx context.Context, flags map[string]string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: port, CertDir: filepath.Dir(flags["tls-cert"]),
		CertName: filepath.Base(flags["tls-cert"]), KeyName: filepath.Base(flags["tls-key"]),
	})
	server.Register("/mutate/pods", &admission.Webhook{Handler: rewriter{admission.NewDecoder(scheme)}})
	go announce(server, port)
	return server.Start(ctx)
}

// freePort returns a port that no program uses.
func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// announce logs the lines of evergate when the server is ready.
func announce(server webhook.Server, port int) {
	for server.StartedChecker()(new(http.Request)) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for _, line := range []string{
		`{"msg":"ops port bound","address":%q}`, `{"msg":"phase changed","to":"listening","address":%q}`,
		`{"msg":"phase changed","to":"ready","address":%q}`,
	} {
		fmt.Fprintf(os.Stderr, line+"\n", address)
	}
}

// rewriter rewrites Pod images.
type rewriter struct{ decoder admission.Decoder }

func (r rewriter) Handle(_ context.Context, req admission.Request) admission.Response {
	pod := new(corev1.Pod)
	if err := r.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	for i := range pod.Spec.InitContainers {
		rewrite(&pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		rewrite(&pod.Spec.Containers[i].Image)
	}
	changed, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, changed)
}

// rewrite adds the mirror to an image, and the registry and the path that an image of Docker Hub may omit.
func rewrite(image *string) {
	registry, _, ok := strings.Cut(*image, "/")
	switch {
	case !ok:
		*image = "docker.io/library/" + *image
	case !strings.ContainsAny(registry, ".:"):
		*image = "docker.io/" + *image
	}
	*image = "mirror.corp.example/" + *image
}
