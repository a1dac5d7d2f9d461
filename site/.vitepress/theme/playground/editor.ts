import { autocompletion, closeBrackets, completionKeymap, type CompletionSource } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export interface Mark { line: number, column: number, severity: 'error' | 'warning' | 'info', message: string }

const style = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--playground-key)' },
  { tag: [tags.string, tags.content], color: 'var(--playground-text)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--playground-comment)' },
])

// open opens an editor in an element. It calls changed after each edit of a user, and not after set.
export const open = (parent: HTMLElement, label: string, changed: () => void, completions?: CompletionSource) => {
  let silent = false
  const view = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        lineNumbers(), history(), drawSelection(), highlightActiveLine(), closeBrackets(), yaml(), lintGutter(),
        syntaxHighlighting(style),
        autocompletion({ override: completions ? [completions] : [] }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...completionKeymap]),
        EditorState.tabSize.of(2),
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
        EditorView.updateListener.of((update) => { if (update.docChanged && !silent) changed() }),
      ],
    }),
  })
  return {
    text: () => view.state.doc.toString(),
    set(text: string) {
      silent = true
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
      silent = false
    },
    mark(marks: Mark[]) {
      const { doc } = view.state
      const diagnostics: Diagnostic[] = marks.filter(({ line }) => line <= doc.lines).map((mark) => {
        const line = doc.line(Math.max(1, mark.line))
        const from = Math.min(line.to, line.from + Math.max(0, mark.column - 1))
        return { from, to: line.to, severity: mark.severity, message: mark.message }
      })
      view.dispatch(setDiagnostics(view.state, diagnostics))
    },
    goTo(line: number) {
      const { from } = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines))
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
      view.focus()
    },
    close: () => view.destroy(),
  }
}
