// The engine of the playground as WebAssembly. This is a separate module because it replaces the Kubernetes packages
// that package export uses. Only their types are needed here, and their dependencies, such as net/http, would make the
// compressed engine two fifths larger.
module github.com/evergate/evergate/site/engine/wasm

go 1.26.8

replace (
	github.com/evergate/evergate => ../../..
	k8s.io/api => ./k8s/api
	k8s.io/apimachinery => ./k8s/apimachinery
)

require github.com/evergate/evergate v0.0.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/net v0.59.0 // indirect
	k8s.io/api v0.37.2 // indirect
	k8s.io/apimachinery v0.37.2 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
