import { readdirSync } from 'node:fs'
import { headingOf, root, routeOf } from './pages.mts'

// Pages by reader. Each path is relative to the repository, and the text of an item is the first heading of its page. A
// pair sets another text, for headings that only make sense on their page.
type Item = string | [path: string, text: string]

const start: Item[] = [
  ['site/start/introduction.md', 'Introduction'],
  ['site/start/five-minutes.md', 'Five minutes'],
  'docs/comparison.md',
  'docs/cli-install.md',
  ['docs/runbooks/install.md', 'Install'],
  'docs/helm.md',
  'docs/runbooks/fail-open-or-closed.md',
  ['docs/README.md', 'All pages by task'],
]

const guides: Item[] = [
  'docs/policy.md',
  'docs/policy/recipes.md',
  ['docs/policy/mirrors.md', 'Mirrors'],
  'docs/runbooks/pull-secrets.md',
  ['docs/policy/owners.md', 'Hosts and owners'],
  ['docs/policy/unique.md', 'Duplicates'],
  ['docs/policy/gateways.md', 'Gateway API'],
  ['docs/policy/exceptions.md', 'Exceptions'],
  'docs/runbooks/leaving-ingress-nginx.md',
  ['docs/policy/rule-sets.md', 'Multi-tenant clusters'],
  ['docs/review.md', 'Review manifests in CI'],
  'docs/testing-policies.md',
  'docs/plan.md',
  'docs/audit.md',
  ['docs/native.md', 'Native policies'],
  'docs/runbooks/native-only.md',
  'docs/runbooks/gitops.md',
]

const onCall: Item[] = [
  ['docs/runbooks/README.md', 'Runbooks and error messages'],
  'docs/runbooks/break-glass.md',
  'docs/runbooks/alerts.md',
  'docs/runbooks/policy-denies-everything.md',
  'docs/runbooks/deployment-without-pods.md',
  'docs/runbooks/mirror-is-down.md',
  'docs/runbooks/out-of-memory.md',
  ['docs/tracing.md', 'Find a slow request'],
  'docs/runbooks/cluster-from-zero.md',
]

const operate: Item[] = [
  'docs/runbooks/upgrade.md',
  'docs/compatibility.md',
  'docs/verify.md',
  'docs/slo.md',
  'docs/runbooks/roll-back.md',
  'docs/runbooks/uninstall.md',
  'docs/runbooks/certificates.md',
  'docs/runbooks/sizing.md',
  ['docs/runbooks/providers.md', 'GKE, EKS and AKS'],
  'docs/runbooks/operators.md',
  ['kustomize/README.md', 'Manifests'],
]

const reference: Item[] = [
  ['docs/denials.md', 'Denials and warnings'],
  ['docs/cli.md', 'Command line'],
  'docs/serve.md',
  'docs/metrics.md',
  ['docs/preflight.md', 'Preflight findings'],
  'docs/plugin.md',
]

const understand: Item[] = [
  'docs/guarantees.md',
  'docs/measurements.md',
  'docs/security.md',
  ['SECURITY.md', 'Report a vulnerability'],
  ['CHANGELOG.md', 'Changelog'],
]

const contribute: Item[] = [
  ['CONTRIBUTING.md', 'Contributing'],
  'docs/architecture.md',
  'docs/performance.md',
  'docs/building.md',
  'docs/releasing.md',
  ['e2e/README.md', 'End-to-end tests'],
]

// titles has the texts that replace the first heading of a page, by its path.
export const titles: Record<string, string> = Object.fromEntries(
  [start, guides, onCall, operate, reference, understand, contribute].flat().filter((i) => typeof i !== 'string'))

const item = (i: Item) => {
  const [path, text] = typeof i === 'string' ? [i, headingOf(i)] : i
  return { text, link: routeOf(path) }
}

// pagesOf returns the pages of a directory, with its README first.
const pagesOf = (directory: string): string[] =>
  readdirSync(`${root}/${directory}`)
    .filter((name) => name.endsWith('.md'))
    .sort((a, b) => Number(b === 'README.md') - Number(a === 'README.md') || a.localeCompare(b))
    .map((name) => `${directory}/${name}`)

const group = (text: string, items: Item[], collapsed = false) => ({ text, collapsed, items: items.map(item) })

export const sidebar = [
  group('Start', start),
  group('Guides', guides),
  group('On call', onCall),
  group('Operate', operate),
  group('Reference', reference),
  group('Policy reference', pagesOf('docs/policy'), true),
  group('Understand', understand),
  group('Contribute', contribute, true),
  group('Decisions', pagesOf('docs/decisions'), true),
]

const linked = new Set(sidebar.flatMap(({ items }) => items.map(({ link }) => link)))
for (const directory of ['docs', 'docs/runbooks'])
  for (const path of pagesOf(directory))
    if (!linked.has(routeOf(path))) throw new Error(`${path}: the navigation does not list this page`)

export const nav = [
  { text: 'Start', link: routeOf('site/start/introduction.md') },
  { text: 'Guides', link: routeOf('docs/policy.md') },
  { text: 'On call', link: routeOf('docs/runbooks/README.md') },
  { text: 'Reference', link: routeOf('docs/policy/README.md') },
  { text: 'Understand', link: routeOf('docs/guarantees.md') },
  { text: 'Playground', link: routeOf('site/playground.md') },
]
