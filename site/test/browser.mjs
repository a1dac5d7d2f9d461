// Serves the built site, and opens pages of it in headless Chromium.
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createGzip } from 'node:zlib'
import { chromium } from 'playwright-core'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const site = join(root, 'dist/site')
export const shots = join(root, 'dist/site-screenshots')
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

const types = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png',
  '.wasm': 'application/wasm', '.woff2': 'font/woff2', '.json': 'application/json',
}

// serve serves the site as static hosts do: /x is x.html.
const serve = () => new Promise((resolve) => {
  const server = createServer((request, response) => {
    const path = join(site, decodeURIComponent(new URL(request.url, 'http://localhost').pathname))
    const file = [path, `${path}.html`, join(path, 'index.html')].find((name) => existsSync(name) && statSync(name).isFile())
    if (!file) return response.writeHead(404).end()
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'text/plain', 'Content-Encoding': 'gzip' })
    createReadStream(file).pipe(createGzip({ level: 1 })).pipe(response)
  })
  server.listen(0, '127.0.0.1', () => resolve(server))
})

export const start = async () => {
  const server = await serve()
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'], // root has no sandbox
  })
  const address = `http://127.0.0.1:${server.address().port}`
  return {
    // open opens a page. mistakes has the errors of the console, failed requests and requests to other hosts.
    async open(path, { width = 1280, scheme = 'light' } = {}) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme })
      const page = await context.newPage()
      page.setDefaultTimeout(60_000)
      const mistakes = []
      const requests = []
      page.on('console', (message) => message.type() === 'error' && mistakes.push(message.text()))
      page.on('pageerror', (err) => mistakes.push(err.message))
      page.on('request', (request) => {
        requests.push(request.url())
        if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(address)) mistakes.push(`request to ${request.url()}`)
      })
      page.on('response', (response) => response.status() >= 400 && mistakes.push(`${response.status()} ${response.url()}`))
      await page.goto(address + path, { waitUntil: 'load' })
      return { page, mistakes, requests, close: () => context.close() }
    },
    cdp: () => browser.newBrowserCDPSession(),
    async stop() {
      await browser.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

// violations returns what axe-core reports about a page.
export const violations = async (page) => {
  await page.addScriptTag({ path: axe })
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target.join(' ') + ' ' + node.html.slice(0, 120)).join(' | ')}`)
}
