package policy_test

import (
	"fmt"
	"log"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// The rules in services evaluate a Service. Each finding is a sentence.
func Example() {
	p, err := policy.Load(policy.File{Name: "services.yaml", Data: []byte(`
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
services:
- name: team-ports
  mode: enforce
  match: {namespaces: ["team-*"]}
  ports: {allowed: ["80", "443", "8000-8999"]}
  message: ask the platform team
`)})
	if err != nil {
		log.Fatal(err)
	}
	request := object.Attributes{Operation: object.Create, Namespace: "team-a", User: "jane"}
	service := &object.Service{Ports: []object.ServicePort{{Name: "https", Port: 443}, {Name: "ssh", Port: 22}}}
	findings, err := policy.Services.Evaluate(p, request, service, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range findings {
		fmt.Printf("denies the request: %t\n%s\n", f.Denies(), f)
	}
	// Output:
	// denies the request: true
	// team-ports/ports.allowed: spec.ports[1].port: 22 is not allowed; allowed: 80, 443, 8000-8999 (ask the platform team)
}

// The error of a policy that does not load contains the file, line, column and field of each mistake.
func ExampleLoad() {
	_, err := policy.Load(policy.File{Name: "services.yaml", Data: []byte(`
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
services:
- name: team-ports
  mode: on
  ports: {allowed: ["443-80"]}
`)})
	fmt.Println(err)
	// Output:
	// services.yaml:6:9: services[0].mode: "on" is not a mode: write off, audit, warn or enforce
	// services.yaml:7:21: services[0].ports.allowed[0]: "443-80" is upside down: write "80-443"
}

// Only introduced findings deny an update. A finding that the object had before is reported, but does not prevent the
// update.
func ExampleKind_Evaluate_update() {
	p, err := policy.Load(policy.File{Name: "services.yaml", Data: []byte(`
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
services:
- {name: types, mode: enforce, types: {denied: [NodePort]}}
- {name: ports, mode: enforce, ports: {allowed: ["443"]}}
`)})
	if err != nil {
		log.Fatal(err)
	}
	request := object.Attributes{Operation: object.Update, Namespace: "team-a", User: "jane"}
	before := &object.Service{Type: "NodePort", Ports: []object.ServicePort{{Port: 443}}}
	after := &object.Service{Type: "NodePort", Ports: []object.ServicePort{{Port: 443}, {Port: 22}}}
	findings, err := policy.Services.Evaluate(p, request, after, before, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range findings {
		fmt.Printf("pre-existing: %-5t denies: %-5t %s\n", f.Existed, f.Denies(), f.ID())
	}
	// Output:
	// pre-existing: true  denies: false types/types.denied
	// pre-existing: false denies: true  ports/ports.allowed
}

// The images of a Pod are rewritten to their mirrors. An image without a mirror stays as it is.
func ExamplePolicy_RewritePod() {
	p, err := policy.Load(policy.File{Name: "mirrors.yaml", Data: []byte(`
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- name: docker-hub
  mode: enforce
  sources: [docker.io]
  mirror: mirror.example/docker.io
`)})
	if err != nil {
		log.Fatal(err)
	}
	request := object.Attributes{Operation: object.Create, Namespace: "team-a", Resource: "pods"}
	pod := &object.Pod{Images: []object.Image{
		{Place: object.InitContainers, Index: 0, Name: "wait", Ref: "busybox"},
		{Place: object.Containers, Index: 0, Name: "app", Ref: "ghcr.io/acme/app:1.25"},
	}}
	rewriting, err := p.RewritePod(request, pod, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, out := range rewriting.Images {
		fmt.Printf("%s: %s\n", out.Image.Path(), out.Why())
		if out.Outcome == policy.Rewritten {
			fmt.Printf("  replace %s with %s\n", out.Image.AppendPointer(nil), out.To)
		}
	}
	fmt.Println(object.OriginalsAnnotation, "=", rewriting.Record)
	// Output:
	// spec.initContainers[0].image: pulled from mirror.example/docker.io/library/busybox by mirrors entry docker-hub
	//   replace /spec/initContainers/0/image with mirror.example/docker.io/library/busybox
	// spec.containers[0].image: no source covers ghcr.io/acme/app
	// evergate.dev/original-images = {"initContainers/wait":"busybox"}
}
