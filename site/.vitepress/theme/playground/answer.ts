// The answer of site/engine, as far as the page shows it.

export interface Problem { line: number, column: number, path: string, message: string }

export interface Result {
  kind: string
  namespace?: string
  name?: string
  decision: string
  findings?: { effect: string, id: string, mode: string, path?: string, message: string, note?: string }[]
  images?: { path: string, image: string, to?: string, entry?: string, why: string }[]
  rules?: { rule: string, mode: string, applies: boolean, why: string, findings: number }[]
}

export interface Answer {
  problems: Problem[] | null
  warnings: Problem[] | null
  report: {
    decision: string
    results: Result[] | null
    errors?: string[]
    skipped?: { kind: string, why: string }[]
  } | null
  places: { level: 'error' | 'warning' | 'note', line: number, column: number, message: string }[] | null
  native: { entry: string, native: boolean, why: string, omissions: string[] | null }[] | null
}
