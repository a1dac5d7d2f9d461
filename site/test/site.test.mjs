import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { shots, start, violations } from './browser.mjs'

let browser
before(async () => {
  mkdirSync(shots, { recursive: true })
  browser = await start()
})
after(() => browser?.stop())

const pages = ['/', '/runbooks/break-glass', '/policy/ingresses', '/denials', '/playground']

for (const width of [360, 1280])
  for (const scheme of ['light', 'dark'])
    for (const path of pages)
      test(`${path} at ${width} px, ${scheme}`, async () => {
        const { page, mistakes, close } = await browser.open(path, { width, scheme })
        if (path === '/playground') await page.waitForSelector('.playground .result')
        await page.screenshot({ path: `${shots}/${width}-${scheme}${path.replaceAll('/', '-')}.png` })
        const pageWidth = await page.evaluate(() => document.documentElement.scrollWidth)
        assert.equal(pageWidth, width, 'the page is wider than the screen')
        assert.deepEqual(await violations(page), [])
        assert.deepEqual(mistakes, [])
        await close()
      })

test('the first page leads to a runbook', async () => {
  const { page, mistakes, close } = await browser.open('/')
  assert.equal(await page.textContent('h1 .name'), 'Evergate')
  await page.click('text=I am on call')
  await page.click('main a[href$="/runbooks/break-glass"]')
  await page.waitForFunction(() => document.title.startsWith('Break glass'))
  assert.deepEqual(mistakes, [])
  await close()
})

const denial = 'Error from server (Forbidden): error when creating "web.yaml": admission webhook ' +
  '"ingresses.validate.evergate.dev" denied the request: my-rule/hosts.allowed: spec.rules[0].host: "x.example" is not ' +
  'allowed; allowed: *.y.example [policy c3c17b7c688c]'

test('the search finds a pasted denial', async () => {
  const { page, mistakes, close } = await browser.open('/')
  await page.click('.DocSearch-Button')
  await page.click('.VPLocalSearchBox input')
  await page.keyboard.insertText(denial) // as a paste does
  const first = page.locator('.VPLocalSearchBox .result').first()
  await first.waitFor()
  await page.waitForTimeout(1000)
  await page.screenshot({ path: `${shots}/search.png` })
  assert.match(await first.getAttribute('href'), /denials(\.html)?#hostsallowed$/)
  await first.click()
  await page.waitForURL(/denials#hostsallowed/)
  assert.deepEqual(mistakes, [])
  await close()
})
