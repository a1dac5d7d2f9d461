// Package policy is what Evergate decides with. It turns policy files into a Policy, and a Policy and an object into
// findings and image rewrites. It is pure: no HTTP, no clock, no logger, no Kubernetes client; the same policy and the
// same object give the same answer, and a Policy may be used by any number of goroutines.
//
// The way through it:
//
//	load.go        files → entries (strictly decoded) → Policy
//	object.go      what is judged: Pod, Ingress, Service
//	reference.go   what an image means               image_*.go    patterns for images, what becomes of one
//	mirrors.go     which mirror an image is pulled from, and mirrors_check.go: what entries may not do to each other
//	rewrite.go     rewriting the images of a Pod, and rewrite_denied.go: not those that are denied as they are written
//	pods.go        judging the images of Pods        pod_*.go      one check each
//	ingresses.go   judging Ingresses                 ingress_*.go  one check each
//	services.go    judging Services                  service_*.go  one check each
//	rule.go        what all rules share: match, exclude, mode; asking every rule
//	index.go       which rules can match a namespace
//	finding.go     what a rule says, and the ratchet: an update answers only for what it introduces
//	effort.go      what judging an object may cost
package policy

// Policy is a set of compiled entries. It never changes after Load.
type Policy struct {
	hash      string
	mirrors   *mirrorTable
	pods      ruleset[judgedPod]
	ingresses ruleset[Ingress]
	services  ruleset[Service]

	denying  [][]eachImage // for each rule of pods, its checks that deny
	denies   bool          // any of them does
	warnings []string
}

// Hash identifies the text that the policy was loaded from: 12 hexadecimal digits, the same on every replica.
func (p *Policy) Hash() string { return p.hash }

// Counts tells how many entries of each kind a policy has, those that are off left out.
type Counts struct {
	Mirrors   int `json:"mirrors"`
	Pods      int `json:"pods"`
	Ingresses int `json:"ingresses"`
	Services  int `json:"services"`
}

// Counts returns how many entries are in force.
func (p *Policy) Counts() Counts {
	return Counts{p.mirrors.len(), len(p.pods.rules), len(p.ingresses.rules), len(p.services.rules)}
}

// Warnings says of what is valid that it does less than it looks like, a line each, with file, line and column.
func (p *Policy) Warnings() []string { return p.warnings }

// MirrorPlaces lists the places that images are rewritten to, each once: a registry, or a registry and a path, such as
// mirror.example/docker.io; of mirrors that end with {registry}, the place above it.
func (p *Policy) MirrorPlaces() []string { return p.mirrors.mirrorPlaces() }

// Modes is the strictest mode among the entries of each kind; Off where there are none.
type Modes struct {
	Mirrors, Pods, Ingresses, Services Mode
}

// Strictest returns the most that a policy does about objects of each kind. Where an object cannot be read, that is all
// there is to decide by: nobody knows which entries would have matched it.
func (p *Policy) Strictest() Modes {
	return Modes{p.mirrors.strictest, p.pods.strictest, p.ingresses.strictest, p.services.strictest}
}

// JudgePod judges the images of a Pod as they will be pulled. old is the Pod before an update, nil otherwise. Judging ends
// at a thousand findings that the request introduces, by then all rules that may deny it have been asked, or one does; of
// pre-existing findings the first thousand are returned. The error is ErrTooCostly or ErrExpired: the object was not judged
// to its end. A nil Effort has the limits of a new one. The same goes for the other kinds.
func (p *Policy) JudgePod(a Attributes, pod, old *Pod, e *Effort) ([]Finding, error) {
	if !concerns(a, pod) {
		return nil, nil
	}
	if e == nil {
		e = new(Effort)
	}
	return judge(&p.pods, a, newJudgedPod(a, pod, e), newJudgedPod(a, old, e), e)
}

// JudgeIngress judges an Ingress. old is the Ingress before an update, nil otherwise.
func (p *Policy) JudgeIngress(a Attributes, ing, old *Ingress, e *Effort) ([]Finding, error) {
	return judge(&p.ingresses, a, ing, old, e)
}

// JudgeService judges a Service. old is the Service before an update, nil otherwise.
func (p *Policy) JudgeService(a Attributes, svc, old *Service, e *Effort) ([]Finding, error) {
	return judge(&p.services, a, svc, old, e)
}

// ExplainPod says of every pods rule whether it looks at the Pod.
func (p *Policy) ExplainPod(a Attributes, pod *Pod) []RuleTrace {
	if !concerns(a, pod) {
		return p.pods.notEvaluated("not asked: it is the mirror Pod of a static Pod, or the request cannot change an image")
	}
	return explain(&p.pods, a, newJudgedPod(a, pod, nil))
}

// ExplainIngress says of every ingresses rule whether it looks at the Ingress.
func (p *Policy) ExplainIngress(a Attributes, ing *Ingress) []RuleTrace {
	return explain(&p.ingresses, a, ing)
}

// ExplainService says of every services rule whether it looks at the Service.
func (p *Policy) ExplainService(a Attributes, svc *Service) []RuleTrace {
	return explain(&p.services, a, svc)
}

// mirrorPodAnnotation marks the API server's shadow of a static Pod. Only kubelets create such Pods; their images are
// pulled from the node's own manifest, so that neither rewriting nor refusing the shadow has an effect. A tenant who
// sets it gains nothing: kubelet never runs a Pod that carries it, and it cannot be added or removed by an update.
const mirrorPodAnnotation = "kubernetes.io/config.mirror"

// touches says whether images of this Pod are Evergate's business in this request: not those of mirror Pods, nor in
// subresources other than ephemeralcontainers (resize, status), which cannot change an image.
func concerns(a Attributes, pod *Pod) bool {
	_, shadow := pod.Annotations[mirrorPodAnnotation]
	return !shadow && (a.Subresource == "" || a.Subresource == "ephemeralcontainers")
}
