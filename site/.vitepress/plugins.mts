import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Plugin } from 'vite'
import { root } from './pages.mts'

// pictures is the module virtual:pictures, with the alternative text of each picture in public/pictures. The text is the
// <title> of its light version.
export const pictures = (): Plugin => {
  const id = 'virtual:pictures'
  const directory = `${root}/site/public/pictures`
  return {
    name: 'pictures',
    resolveId: (name) => (name === id ? '\0' + id : undefined),
    load(name) {
      if (name !== '\0' + id) return
      const files = existsSync(directory) ? readdirSync(directory).filter((file) => file.endsWith('-light.svg')) : []
      const available = Object.fromEntries(files.map((file) => {
        const title = /<title[^>]*>([^<]+)<\/title>/.exec(readFileSync(`${directory}/${file}`, 'utf8'))
        if (!title) throw new Error(`public/pictures/${file}: the picture has no <title>, which is its alternative text`)
        return [file.replace(/-light\.svg$/, ''), title[1]]
      }))
      return `export const available = ${JSON.stringify(available)}`
    },
  }
}

// vueFromHere lets pages outside this directory import Vue from its node_modules.
export const vueFromHere = (): Plugin => ({
  name: 'vue-from-here',
  enforce: 'pre',
  async resolveId(id, importer, options) {
    if (!/^vue(\/|$)/.test(id) || !importer || importer.startsWith(`${root}/site/`)) return
    return this.resolve(id, `${root}/site/index.md`, { ...options, skipSelf: true })
  },
})
