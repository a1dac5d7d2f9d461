import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import document from '../../../../docs/policy.schema.json'

interface Schema {
  type?: string
  description?: string
  enum?: string[]
  items?: Schema
  properties?: Record<string, Schema>
}

// inner returns the schema of the elements of a list, or the schema itself.
const inner = (s: Schema): Schema => s.items ? inner(s.items) : s

const fieldAt = (path: string[]): Schema | undefined => {
  let s: Schema | undefined = document as Schema
  for (const name of path) s = s && inner(s).properties?.[name]
  return s && inner(s)
}

const keyOfLine = /^(\s*(?:- +)*)([\w]+):/

// pathAbove returns the keys that contain a column of a line, from the lines above it.
const pathAbove = (lines: string[], column: number): string[] => {
  const path: string[] = []
  for (let i = lines.length - 1; i >= 0 && column > 0; i--) {
    const match = keyOfLine.exec(lines[i])
    if (!match || match[1].length >= column) continue
    const listAtKey = lines[i].trimEnd().endsWith(':') // the elements of a list may begin in the column of its key
    path.unshift(match[2])
    column = match[1].length
    if (!listAtKey && !match[1].includes('-')) continue
  }
  return path
}

// place returns the keys around a position, and the key whose value is there, if any.
const place = (above: string[], line: string): { path: string[], key?: string } | undefined => {
  if (/(^|\s)#/.test(line)) return
  const start = /^\s*(?:- +)*/.exec(line)![0]
  const inList = start.includes('-')
  const path = pathAbove(above, inList ? line.indexOf('-') + 1 : start.length)
  const stack: string[] = []
  let key: string | undefined
  for (const [, open, close, comma, name] of line.slice(start.length).matchAll(/([{[])|([}\]])|(,)|"[^"]*"|([\w]+):\s/g)) {
    if (name) key = name
    else if (open) { stack.push(open === '{' && key ? key : ''); if (open === '{') key = undefined }
    else if (close) { stack.pop(); key = undefined }
    else if (comma && !line.slice(start.length).match(/\[[^\]]*$/)) key = undefined
  }
  return { path: [...path, ...stack.filter(Boolean)], key }
}

// complete completes the fields of a policy and their values.
export const complete = (context: CompletionContext): CompletionResult | null => {
  const line = context.state.doc.lineAt(context.pos)
  const above = context.state.sliceDoc(0, line.from).split('\n').slice(0, -1)
  const word = context.matchBefore(/[\w-]*/)!
  if (!context.explicit && word.from === word.to) return null
  const at = place(above, line.text.slice(0, word.from - line.from))
  if (!at) return null
  const field = fieldAt(at.key ? [...at.path, at.key] : at.path)
  if (!field) return null
  const options: Completion[] = at.key
    ? (field.enum ?? (field.type === 'boolean' ? ['true', 'false'] : []))
      .map((label) => ({ label, type: 'constant' }))
    : Object.entries(field.properties ?? {}).map(([label, s]) => ({
      label, type: 'property', apply: label + ': ', info: s.description,
    }))
  return options.length ? { from: word.from, options, validFor: /^[\w-]*$/ } : null
}
