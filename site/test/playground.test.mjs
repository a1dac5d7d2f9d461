import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { brotliCompressSync, constants } from 'node:zlib'
import { shots, site, start } from './browser.mjs'

let browser
before(async () => { browser = await start() })
after(() => browser?.stop())

const editor = (page, name) => page.locator(`.playground [aria-label="${name}"] .cm-content`)

// replace replaces the text of an editor, as a paste does.
const replace = async (page, name, text) => {
  await editor(page, name).click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(text)
}

const result = (page) => page.locator('.playground .result').first()

const policy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
ingresses:
- name: hosts
  mode: enforce
  hosts: {allowed: ["*.dev.example"]}
`
const ingress = (host) => `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: ${host}
`

test('type a policy, see a denial, fix it, share the address, reload', async () => {
  const { page, mistakes, requests, close } = await browser.open('/playground')
  await result(page).waitFor()
  const loaded = requests.length

  await replace(page, 'Policy', policy)
  await replace(page, 'Manifests', ingress('shop.example'))
  await page.waitForFunction(() => document.querySelectorAll('.playground .result').length === 1)
  assert.match(await result(page).textContent(), /line 6.*hosts\/hosts\.allowed: spec\.rules\[0\]\.host: "shop\.example" is not allowed/s)
  assert.match(await result(page).locator('h2').textContent(), /denied\s+Ingress default\/web/)

  await replace(page, 'Manifests', ingress('shop.dev.example'))
  await page.waitForSelector('.playground .result.allowed')
  await page.waitForTimeout(500) // the address changes shortly after the last edit
  assert.equal(requests.length, loaded, `requests after the page was loaded: ${requests.slice(loaded)}`)

  await page.reload()
  await page.waitForSelector('.playground .result.allowed')
  assert.match(await editor(page, 'Manifests').textContent(), /shop\.dev\.example/)
  assert.match(await editor(page, 'Policy').textContent(), /\*\.dev\.example/)
  assert.deepEqual(mistakes, [])
  await close()
})

test('a mistake in the policy has a line', async () => {
  const { page, mistakes, close } = await browser.open('/playground')
  await result(page).waitFor()
  await replace(page, 'Policy', policy.replace('hosts: {', 'host: {'))
  await page.waitForSelector('.playground .findings button:has-text("policy, line 6:3")')
  await page.screenshot({ path: `${shots}/playground-mistake.png` })
  assert.deepEqual(mistakes, [])
  await close()
})

test('the editor completes fields and values of the schema', async () => {
  const { page, close } = await browser.open('/playground')
  await result(page).waitFor()
  await replace(page, 'Policy', policy + '  pat')
  await page.keyboard.press('Control+Space')
  await page.waitForSelector('.cm-tooltip-autocomplete li:has-text("paths")')
  await page.keyboard.press('Escape')
  await replace(page, 'Policy', policy.replace('enforce\n  hosts: {allowed: ["*.dev.example"]}\n', 'en'))
  await page.keyboard.press('Control+Space')
  await page.waitForSelector('.cm-tooltip-autocomplete li:has-text("enforce")')
  await close()
})

test('each example has a result', async () => {
  const { page, mistakes, close } = await browser.open('/playground')
  await result(page).waitFor()
  for (const value of await page.locator('.playground select option').evaluateAll((all) => all.map((o) => o.value))) {
    await page.selectOption('.playground select', value)
    await page.waitForTimeout(1000)
    assert.doesNotMatch(await page.textContent('.playground .status'), /fails to load|invalid/)
  }
  assert.deepEqual(mistakes, [])
  await close()
})

test('the engine is small and fast', { skip: process.env.SITE_TEST_BOUNDS === '0' }, async () => {
  const engine = brotliCompressSync(readFileSync(`${site}/playground/evergate.wasm`), { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
  console.log(`# engine: ${(engine.length / 2 ** 20).toFixed(2)} MiB with brotli, quality 11`)
  assert.ok(engine.length <= 3 * 2 ** 20, `the engine has ${engine.length} bytes with brotli`)

  const { page, close } = await browser.open('/playground')
  await result(page).waitFor()
  const { processInfo } = await (await browser.cdp()).send('SystemInfo.getProcessInfo')
  console.log(`# seconds of CPU to the first decision: ${processInfo.map(({ type, cpuTime }) => `${type} ${cpuTime.toFixed(2)}`)}`)
  const renderers = processInfo.filter(({ type }) => type === 'renderer').map(({ cpuTime }) => cpuTime)
  assert.ok(Math.max(...renderers) <= 2.5, 'the first decision takes more than 2.5 seconds of CPU')
  const times = []
  for (let i = 0; i < 12; i++) {
    await replace(page, 'Manifests', ingress(`host-${i}.example`))
    await page.waitForFunction((text) => document.querySelector('.playground .result')?.textContent.includes(text), `host-${i}.example`)
    times.push(Number(/in (\d+) ms/.exec(await page.textContent('.playground .status'))[1]))
  }
  times.sort((a, b) => a - b)
  console.log(`# milliseconds after an edit: ${times}`)
  assert.ok(times[6] <= 150, `an edit takes ${times[6]} ms`)
  await close()
})
