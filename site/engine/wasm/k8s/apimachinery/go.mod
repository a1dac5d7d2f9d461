// The types of k8s.io/apimachinery that package export uses, without its dependencies. See the go.mod file above.
module k8s.io/apimachinery

go 1.26.8
