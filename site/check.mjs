// Checks the built site: every link has a target, every anchor exists, and every page has one title and one description.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const site = join(dirname(dirname(fileURLToPath(import.meta.url))), 'dist/site')
const base = process.env.SITE_BASE ?? '/'

const files = readdirSync(site, { recursive: true }).map((file) => file.replaceAll('\\', '/'))
const pages = new Map(files.filter((file) => file.endsWith('.html') && file !== '404.html').map((file) => {
  const html = readFileSync(join(site, file), 'utf8')
  return [file, { html, ids: new Set([...html.matchAll(/\sid="([^"]*)"/g)].map((match) => decode(match[1]))) }]
}))
const mistakes = []
const titles = new Map()

for (const [file, { html }] of pages) {
  const title = count(html, /<title>([^<]*)<\/title>/g)
  const description = count(html, /<meta name="description" content="([^"]*)"/g)
  const headings = count(html, /<h1[\s>]/g)
  if (title.length !== 1) mistakes.push(`${file}: has ${title.length} titles`)
  if (description.length !== 1 || description[0].length < 10) mistakes.push(`${file}: has no description`)
  if (headings.length !== 1) mistakes.push(`${file}: has ${headings.length} headings of level 1`)
  const other = titles.get(title[0])
  if (other) mistakes.push(`${file}: has the title of ${other}: ${title[0]}`)
  titles.set(title[0], file)
  for (const [, href] of html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)) checkLink(file, decode(href))
}

for (const mistake of mistakes) console.error(mistake)
console.log(`${pages.size} pages, ${mistakes.length} mistakes`)
process.exit(mistakes.length ? 1 : 0)

function checkLink(file, href) {
  if (/^[a-z]+:/.test(href)) return
  const [path, anchor] = href.split('#')
  let target = file
  if (path) {
    const absolute = path.startsWith('/') ? path.slice(base.length) : posix.join(posix.dirname(file), path)
    const found = [absolute, `${absolute}.html`, posix.join(absolute, 'index.html')].find((name) => files.includes(name) && /\.\w+$/.test(name))
    if (!found) return mistakes.push(`${file}: the link to ${href} has no target`)
    target = found
  }
  if (anchor && pages.has(target) && !pages.get(target).ids.has(anchor)) mistakes.push(`${file}: the link to ${href} has no anchor`)
}

function count(text, pattern) {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '')
}

function decode(text) {
  const names = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return decodeURI(text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => names[name]))
}
