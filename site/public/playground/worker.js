// Runs the engine outside the page's thread, so that typing stays fast. A message is {policy, manifests}, and the answer
// is {answer, milliseconds}.
importScripts('wasm_exec.js')

const ready = new Promise((resolve, reject) => {
  self.evergateReady = resolve
  const go = new Go()
  WebAssembly.instantiateStreaming(fetch('evergate.wasm'), go.importObject)
    .then(({ instance }) => go.run(instance))
    .catch(reject)
})

ready.then(() => postMessage({ ready: true }), (err) => postMessage({ error: String(err) }))

self.onmessage = async ({ data }) => {
  await ready
  const begin = performance.now()
  const answer = JSON.parse(self.evergate(data.policy, data.manifests))
  postMessage({ answer, milliseconds: performance.now() - begin })
}
