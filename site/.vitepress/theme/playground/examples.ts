import first from '../../../examples/first.yaml?raw'
import dev from '../../../../examples/policies/dev.yaml?raw'
import hardened from '../../../../examples/policies/hardened.yaml?raw'
import mirrors from '../../../../examples/policies/mirrors.yaml?raw'
import workloads from '../../../../examples/policies/workloads.yaml?raw'
import pod from '../../../../examples/manifests/pod-bad.yaml?raw'
import ingress from '../../../../examples/manifests/ingress-bad.yaml?raw'
import service from '../../../../examples/manifests/service-bad.yaml?raw'
import deployments from '../../../../examples/manifests/workloads-bad.yaml?raw'

export interface Texts { policy: string, manifests: string }

export const examples: (Texts & { name: string })[] = [
  { name: 'A first policy', policy: dev, manifests: first },
  { name: 'Images', policy: hardened, manifests: pod },
  { name: 'Ingresses', policy: hardened, manifests: ingress },
  { name: 'Services', policy: hardened, manifests: service },
  { name: 'Workloads', policy: workloads, manifests: deployments },
  { name: 'Mirrors', policy: mirrors, manifests: first },
]
