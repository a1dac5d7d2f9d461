package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

func TestServicePorts(t *testing.T) {
	ports := func(ports ...int32) (svc object.Service) {
		for _, p := range ports {
			svc.Ports = append(svc.Ports, object.ServicePort{Port: p})
		}
		return svc
	}
	testServices(t, []serviceCase{
		{"ends of a range", `ports: {allowed: ["80", "8000-8999"]}`, ports(80, 8000, 8999), nil},
		{"beside a range", `ports: {allowed: ["80", "8000-8999"]}`, ports(79, 80, 81, 7999, 9000), []string{
			"r/ports.allowed: spec.ports[0].port: 79 is not allowed; allowed: 80, 8000-8999",
			"r/ports.allowed: spec.ports[2].port: 81 is not allowed; allowed: 80, 8000-8999",
			"r/ports.allowed: spec.ports[3].port: 7999 is not allowed; allowed: 80, 8000-8999",
			"r/ports.allowed: spec.ports[4].port: 9000 is not allowed; allowed: 80, 8000-8999"}},
		{"nothing allowed", "ports: {allowed: []}", ports(80), []string{
			"r/ports.allowed: spec.ports[0].port: 80 is not allowed; the policy allows none"}},
		{"no ports", "ports: {allowed: []}", object.Service{ExternalName: "a.example"}, nil},
		{"the highest", `ports: {allowed: ["1-65535"]}`, ports(1, 65535), nil},
	})
}

func TestServicePortsErrors(t *testing.T) {
	const want = `: write "443" or "8000-8999", each from 1 to 65535`
	testErrors(t, "services", servicesRule, map[string]string{
		"ports: {allowed: [80]}":           "ports.allowed[0]: want a string, got 80: put it in quotes",
		`ports: {allowed: ["0"]}`:          `ports.allowed[0]: "0" is not a port or a range of ports` + want,
		`ports: {allowed: ["65536"]}`:      `ports.allowed[0]: "65536" is not a port or a range of ports` + want,
		`ports: {allowed: ["http"]}`:       `ports.allowed[0]: "http" is not a port or a range of ports` + want,
		`ports: {allowed: ["80-"]}`:        `ports.allowed[0]: "80-" is not a port or a range of ports` + want,
		`ports: {allowed: ["80-90-99"]}`:   `ports.allowed[0]: "80-90-99" is not a port or a range of ports` + want,
		`nodePorts: {allowed: ["90 - 1"]}`: `nodePorts.allowed[0]: "90 - 1" is not a port or a range of ports` + want,
		`nodePorts: {allowed: ["90-80"]}`:  `nodePorts.allowed[0]: "90-80" is upside down: write "80-90"`,
	})
}
