//go:build js && wasm

// Command wasm is the engine of the playground as WebAssembly. It defines the JavaScript function evergate, which takes
// a policy and manifests, and returns the answer as JSON.
package main

import (
	"encoding/json"
	"syscall/js"
	"time"

	"github.com/evergate/evergate/site/engine"
)

func main() {
	js.Global().Set("evergate", js.FuncOf(func(_ js.Value, args []js.Value) any {
		answer, err := json.Marshal(engine.Evaluate([]byte(args[0].String()), []byte(args[1].String()), time.Now()))
		if err != nil {
			return `{"problems": [{"message": "the answer cannot be encoded"}]}`
		}
		return string(answer)
	}))
	js.Global().Call("evergateReady")
	select {} // the function is called until the page is closed
}
