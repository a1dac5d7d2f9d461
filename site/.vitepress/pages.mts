import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

const source = 'https://github.com/evergate/evergate/blob/main/'

// Markdown files that are pages, relative to the repository. Links to all other files lead to the source.
const page = /^(docs\/.*|site\/(?!README)(start\/)?[^/]*|kustomize\/README|e2e\/README|CONTRIBUTING|SECURITY|CHANGELOG)\.md$/

const isPage = (path: string): boolean => page.test(path)

// excluded returns globs of the Markdown files that are not pages.
export const excluded = (): string[] => [
  ...readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['docs', 'site', 'kustomize', 'e2e'].includes(entry.name))
    .map((entry) => `${entry.name}/**`),
  ...readdirSync(root).filter((name) => name.endsWith('.md') && !isPage(name)),
  'e2e/*/**', 'e2e/!(README).md', 'kustomize/*/**', 'site/README.md', 'site/{engine,examples,node_modules,public,test}/**',
]

// Pages whose path would collide with a directory or another page.
const renamed: Record<string, string> = { 'docs/README.md': 'pages.md', 'docs/policy.md': 'write-a-policy.md' }

// rewrite returns the path of a page on the site. README files are the index of their directory.
export const rewrite = (path: string): string => {
  if (!isPage(path)) return path
  if (renamed[path]) return renamed[path]
  if (!path.includes('/')) return 'project/' + path.toLowerCase()
  return path.replace(/^(docs|site)\//, '').replace(/(^|\/)README\.md$/, '$1index.md')
}

// routeOf returns the link to a page.
export const routeOf = (path: string): string => '/' + rewrite(path).replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')

const textOf = (path: string): string => readFileSync(`${root}/${path}`, 'utf8')

export const headingOf = (path: string): string => {
  const heading = /^# (.+)$/m.exec(textOf(path))
  if (!heading) throw new Error(`${path}: the page has no heading of level 1`)
  return plain(heading[1])
}

// plain returns Markdown text without its marks.
const plain = (markdown: string): string =>
  markdown
    .replace(/!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, '$1')
    .split('`')
    .map((part, i) => (i % 2 ? part : part.replace(/\*\*/g, '').replace(/(?<!\w)([*_])([^*_]+)\1(?!\w)/g, '$2')))
    .join('')
    .trim()

// descriptionOf returns the first sentence of a page that describes its contents. It skips the sentence that names the
// readers, the label "When", and the status of a decision.
export const descriptionOf = (path: string): string => {
  const body = textOf(path).replace(/^---\n[\s\S]*?\n---\n/, '').replace(/```[\s\S]*?```/g, '').replace(/<!--[\s\S]*?-->/g, '')
  const paragraphs = body.split(/\n\s*\n/).map((p) => p.trim())
    .filter((p) => p && !/^([#|<>-]|\d+\. |\*\*(Status|Not yet)\b)/.test(p))
  if (!paragraphs.length) throw new Error(`${path}: the page has no paragraph to take a description from`)
  const sentences = paragraphs[0].replace(/\n/g, ' ').replace(/^\*\*(When|Effect):\*\* /, '')
    .split(/(?<=[.:?!]\*{0,2})\s+(?=["“A-Z`*[])/)
  const readers = /^(For (?!example)|This (page|guide|section) is for ).*\.$/
  const first = sentences.length > 1 && readers.test(sentences[0]) ? sentences[1].replace(/^It /, 'This page ') : sentences[0]
  const capital = first.startsWith('`') ? first : first[0].toUpperCase() + first.slice(1)
  return plain(capital).replace(/:$/, '.').replaceAll('"', "'") // VitePress does not escape it
}

// resolve turns a link in a page into the address on the site, or in the repository for files that are not pages.
export const resolve = (page: string, href: string): string => {
  if (/^([a-z]+:|#|\/)/.test(href)) return href
  const [file, anchor] = href.split('#')
  const target = posix.normalize(posix.join(posix.dirname(page), file)).replace(/\/$/, '')
  if (!existsSync(`${root}/${target}`)) throw new Error(`${page}: the link to ${href} has no target`)
  const hash = anchor ? '#' + anchor : ''
  if (isPage(target)) return routeOf(target) + hash
  return source + target + hash
}

// slug returns the anchor that GitHub gives to a heading.
export const slug = (heading: string): string =>
  heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replace(/ /g, '-')
