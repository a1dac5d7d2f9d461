import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import Pictures from './Pictures.vue'
import './custom.css'

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('Pictures', Pictures)
  },
} satisfies Theme
