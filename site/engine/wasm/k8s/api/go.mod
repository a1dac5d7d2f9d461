// The types of k8s.io/api that package export uses, without its dependencies. See the go.mod file above.
module k8s.io/api

go 1.26.8
