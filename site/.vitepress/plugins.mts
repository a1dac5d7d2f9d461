import type { Plugin } from 'vite'
import { root } from './pages.mts'

// pictureOfTheme shows a <picture> in the theme of the website. GitHub does this itself, but a browser would use the
// theme of the system.
export const pictureOfTheme = (html: string): string =>
  html.replace(
    /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]*)">\s*<img src="([^"]*)" alt="([^"]*)">\s*<\/picture>/g,
    (_, dark, light, alt) => `<p class="picture">${image('light', light, alt)}${image('dark', dark, alt)}</p>`)

// image returns an image. Vite copies files whose path begins with a dot.
const image = (theme: string, path: string, alt: string) =>
  `<img class="${theme}" src="${path.startsWith('.') ? path : './' + path}" alt="${alt.replace(/\s+/g, ' ')}">`

// vueFromHere lets pages outside this directory import Vue from its node_modules.
export const vueFromHere = (): Plugin => ({
  name: 'vue-from-here',
  enforce: 'pre',
  async resolveId(id, importer, options) {
    if (!/^vue(\/|$)/.test(id) || !importer || importer.startsWith(`${root}/site/`)) return
    return this.resolve(id, `${root}/site/index.md`, { ...options, skipSelf: true })
  },
})
