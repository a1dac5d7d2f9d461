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

// allowLongSearches removes the limit of 64 characters from the search, because the message of a denial is longer.
const allowLongSearches = ({ target }: FocusEvent) => {
  if ((target as Element).id === 'localsearch-input') (target as Element).removeAttribute('maxlength')
}

export const useRepairs = () => {
  const route = useRoute()
  onMounted(() => {
    repair()
    document.addEventListener('focusin', allowLongSearches)
  })
  watch(() => route.path, () => nextTick(repair))
}
