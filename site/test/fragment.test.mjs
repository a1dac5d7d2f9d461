import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { transformSync } from 'esbuild'

const source = readFileSync(new URL('../.vitepress/theme/playground/fragment.ts', import.meta.url), 'utf8')
const { code } = transformSync(source, { loader: 'ts' })
const { decode, encode } = await import(`data:text/javascript,${encodeURIComponent(code)}`)

const fragment = (text) => '#p=' + deflateRawSync(text).toString('base64url')

test('a fragment contains the texts', async () => {
  for (const texts of [{ policy: '', manifests: '' }, { policy: 'a: "ä"\n', manifests: 'b'.repeat(1 << 20) }]) {
    assert.deepEqual(await decode(await encode(texts)), texts)
  }
  for (const damaged of ['', '#p=', '#p=%', '#q=AAAA', fragment('['), fragment('5')]) assert.equal(await decode(damaged), undefined)
})

test('a fragment that becomes 100 MB is not decompressed to its end', async (t) => {
  let bytes = 0
  class Counted extends DecompressionStream {
    get readable() {
      return super.readable.pipeThrough(new TransformStream({ transform: (chunk, to) => { bytes += chunk.length; to.enqueue(chunk) } }))
    }
  }
  t.mock.method(globalThis, 'DecompressionStream', Counted)
  const bomb = fragment(JSON.stringify(['a'.repeat(100 << 20), '']))
  assert.ok(bomb.length < 140 << 10)
  assert.equal(await decode(bomb), undefined)
  assert.ok(bytes < 8 << 20, `${bytes} bytes were decompressed`)
})
