package plan_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/offline/plan"
	"github.com/evergate/evergate/policy"
)

// Objects may come from any source, here from a page of a list from an API server.
func Example() {
	const head = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
	old, err := policy.Load(policy.File{Name: "old.yaml", Data: []byte(head +
		"services: [{name: types, mode: warn, types: {denied: [NodePort]}}]\n")})
	if err != nil {
		fmt.Println(err)
		return
	}
	next, err := policy.Load(policy.File{Name: "next.yaml", Data: []byte(head +
		"services: [{name: types, mode: enforce, types: {denied: [NodePort]}}]\n")})
	if err != nil {
		fmt.Println(err)
		return
	}
	page := offline.NewList("services", strings.NewReader(`{"apiVersion": "v1", "kind": "ServiceList", "items": [
		{"metadata": {"name": "web", "namespace": "team-a"}, "spec": {"type": "NodePort"}},
		{"metadata": {"name": "db", "namespace": "team-a"}, "spec": {"type": "ClusterIP"}}]}`))

	p := plan.New(plan.Options{Old: old, New: next, Limit: 10})
	p.AddAll(page.Objects())
	report := p.Report()
	fmt.Println("denies:", report.Denies())
	if err := output.Write(os.Stdout, output.Text, report, output.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// denies: true
	// 2 objects validated against policy 8e2c3bbcba76 and policy d2f62b7c1ae7
	//   1  newly denied
	//   1  unchanged
	//
	// by rule               newly denied
	//   types/types.denied             1
	//
	// by namespace  newly denied
	//   team-a                 1
	//
	// newly denied
	//   Service team-a/web (services:2: item 1): allowed with a warning → denied
	//     ~ denied   types/types.denied: spec.type: "NodePort" is denied; write another type; before: warning
}
