import type { Texts } from './examples'

// The fragment of the address is the texts as JSON, compressed and in base64url.

const through = async (bytes: Uint8Array, stream: GenericTransformStream): Promise<Uint8Array> =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer())

export const encode = async (texts: Texts): Promise<string> => {
  const json = new TextEncoder().encode(JSON.stringify([texts.policy, texts.manifests]))
  const packed = await through(json, new CompressionStream('deflate-raw'))
  let binary = ''
  for (const byte of packed) binary += String.fromCharCode(byte)
  return '#p=' + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

// decode returns undefined for a fragment without texts, and for a damaged one.
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
