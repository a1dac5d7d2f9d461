import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { nav, sidebar, titles } from './navigation.mts'
import { pictureOfTheme, vueFromHere } from './plugins.mts'
import { descriptionOf, excluded, resolve, rewrite, root, slug } from './pages.mts'

// The icon is in the page, because browsers request an icon again when the fragment of the address changes.
const icon = readFileSync(`${root}/site/icon.svg`, 'utf8')

const base = process.env.SITE_BASE ?? '/'

export default defineConfig({
  title: 'Evergate',
  description: 'A Kubernetes admission webhook that never drops an admission call',
  lang: 'en',
  base,
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}`, type: 'image/svg+xml' }]],
  srcDir: root,
  srcExclude: excluded(),
  outDir: `${root}/dist/site`,
  rewrites: rewrite,
  cleanUrls: true,
  lastUpdated: false,
  vite: {
    plugins: [vueFromHere()],
    publicDir: `${root}/site/public`, build: { chunkSizeWarningLimit: 1024 } },
  markdown: {
    attrs: { disable: true },
    anchor: { slugify: slug },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      md.core.ruler.push('links', (state) => {
        const page: string = state.env.realPath ?? state.env.path
        for (const block of state.tokens)
          for (const token of block.children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : null
            if (href) token.attrSet('href', resolve(page.slice(root.length + 1), decodeURI(href)))
          }
      })
      const block = md.renderer.rules.html_block!
      md.renderer.rules.html_block = (...args) => pictureOfTheme(block(...args))
      // Vue would evaluate double braces.
      for (const name of ['text', 'code_inline'] as const) {
        const render = md.renderer.rules[name]!
        md.renderer.rules[name] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
      }
    },
  },
  transformPageData(page) {
    if (titles[page.filePath]) page.title = titles[page.filePath]
    if (page.filePath === 'docs/denials.md') page.frontmatter.pageClass = 'sentences'
    if (!page.frontmatter.description) page.description = descriptionOf(page.filePath)
  },
  themeConfig: {
    nav,
    sidebar,
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: 'https://github.com/evergate/evergate' }],
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        miniSearch: { searchOptions: { fuzzy: false, prefix: true, boost: { title: 4, titles: 2, text: 1 } } },
      },
    },
    editLink: { pattern: 'https://github.com/evergate/evergate/edit/main/:path', text: 'Edit this page' },
  },
})
