import { useRoute } from 'vitepress'
import { nextTick, onMounted, watch } from 'vue'

// repair fixes two mistakes of the default theme: the home page has no main landmark, and the heading of a group in the
// sidebar is a button that contains a button.
const repair = () => {
  document.querySelector('.VPHome')?.setAttribute('role', 'main')
  for (const heading of document.querySelectorAll('.VPSidebar .item[role="button"]')) {
    heading.removeAttribute('role')
    heading.removeAttribute('tabindex')
  }
}

export const useRepairs = () => {
  const route = useRoute()
  onMounted(repair)
  watch(() => route.path, () => nextTick(repair))
}
