import type { Texts } from './examples'

// The fragment of the address is the texts as JSON, compressed and in base64url.

// maxBytes limits the texts in an address. A policy in a ConfigMap has at most 1 MiB.
const maxBytes = 2 << 20

// step is how many bytes are decompressed at a time. Browsers decompress a whole chunk before anyone can stop them, and a
// byte can become a thousand.
const step = 1 << 10

const slices = (bytes: Uint8Array, at = 0) => new ReadableStream<Uint8Array>({
  pull(to) {
    to.enqueue(bytes.subarray(at, at += step))
    if (at >= bytes.length) to.close()
  },
})

const limit = (left = maxBytes) => new TransformStream<Uint8Array, Uint8Array>({
  transform(chunk, to) {
    if ((left -= chunk.length) < 0) throw new RangeError('the texts are too long')
    to.enqueue(chunk)
  },
})

const through = async (bytes: Uint8Array, stream: GenericTransformStream): Promise<Uint8Array> =>
  new Uint8Array(await new Response(slices(bytes).pipeThrough(stream).pipeThrough(limit())).arrayBuffer())

export const encode = async (texts: Texts): Promise<string> => {
  const json = new TextEncoder().encode(JSON.stringify([texts.policy, texts.manifests]))
  const packed = await through(json, new CompressionStream('deflate-raw'))
  let binary = ''
  for (const byte of packed) binary += String.fromCharCode(byte)
  return '#p=' + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

// decode returns undefined for a fragment without texts, and for a damaged or too long one.
export const decode = async (fragment: string): Promise<Texts | undefined> => {
  if (!fragment.startsWith('#p=')) return
  try {
    const binary = atob(fragment.slice(3).replaceAll('-', '+').replaceAll('_', '/'))
    const packed = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    const json = new TextDecoder().decode(await through(packed, new DecompressionStream('deflate-raw')))
    const [policy, manifests] = JSON.parse(json)
    return { policy: String(policy), manifests: String(manifests) }
  } catch {
    return
  }
}
