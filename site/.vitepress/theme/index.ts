import type { Theme } from 'vitepress'
import { useData } from 'vitepress'
import { defineAsyncComponent, h } from 'vue'
import DefaultTheme from 'vitepress/theme'
import { useRepairs } from './repairs'
import './custom.css'

export default {
  extends: DefaultTheme,
  Layout() {
    const { denial } = useData().frontmatter.value // only the first page has one
    return h(DefaultTheme.Layout, null, denial && {
      'home-hero-image': () => h('pre', { class: 'denial', tabindex: 0 }, h('code', denial)),
    })
  },
  setup: useRepairs,
  enhanceApp({ app }) {
    app.component('Playground', defineAsyncComponent(() => import('./playground/Playground.vue')))
  },
} satisfies Theme
