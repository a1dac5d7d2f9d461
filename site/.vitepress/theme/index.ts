import type { Theme } from 'vitepress'
import { defineAsyncComponent } from 'vue'
import DefaultTheme from 'vitepress/theme'
import { useRepairs } from './repairs'
import './custom.css'

export default {
  extends: DefaultTheme,
  setup: useRepairs,
  enhanceApp({ app }) {
    app.component('Playground', defineAsyncComponent(() => import('./playground/Playground.vue')))
  },
} satisfies Theme
