package export

import (
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
)

const (
	classAnnotation     = "kubernetes.io/ingress.class"
	allowHTTPAnnotation = "kubernetes.io/ingress.allow-http"
)

// ingresses returns the kind for Ingresses. The API server has validated their hosts, so each host is a name in lower
// case, or *. and a name.
func (x *exporter) ingresses() *exportedKind {
	return &exportedKind{
		name: "ingresses",
		resources: []admissionv1.NamedRuleWithOperations{rule("networking.k8s.io", createAndUpdate(), "ingresses",
			"ingresses/status")},
		conditions: []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()},
		variables: append(x.solver(ingressSolver()), []variable{
			{"classes", cel(`[{'path':'spec.ingressClassName','class':string(object.spec.?ingressClassName.orValue(''))},
				{'path':$path,'class':string($annotation)}].filter(class,class.class!='')`,
				"$path", str(annotationPath(classAnnotation)), "$annotation", annotationValue(classAnnotation))},
			{"annotations", validatedAnnotations()},
			{"hosts", x.ruleHosts()},
			{"claims", x.ingressClaims()},
			{"paths", ingressPaths()},
			{"regexPaths", "variables.annotations.exists(key,key.matches('(?:^|/)(?:use-regex|rewrite-target|path-regex)$'))"},
			{"namesTLS", namesTLS},
			{"onlyTLS", onlyTLS()},
		}...),
		selector: selector{[]string{"namespaces", "users", "groups", "labels", "classNames"},
			"variables.classes.map(class,class.class)"},
		checks: ingressChecks,
		capacity: func(int) string {
			return "validates Ingresses with up to " + strconv.Itoa(LargestIngress) +
				" hosts; the API server denies objects that exceed its cost budget"
		},
	}
}

// LargestIngress is the largest number of hosts in an Ingress for which the API server can evaluate all checks of
// hosts, even if every host is denied. A test in the module equivalence verifies it.
const LargestIngress = 200

// ruleHosts returns an expression for the claims of the rules of an Ingress and of its default backend. If a class of
// the Ingress is a globbing class, *.x in a rule includes names at any depth.
func (x *exporter) ruleHosts() string {
	const path = "'spec.rules['+string(i)+'].host'"
	return cel(`size(object.spec.?rules.orValue([]))==0?[$none]:object.spec.rules.transformList(i,rule,
		[rule.?host.orValue('')].map(text,text==''?$every:$claim)[0])+(has(object.spec.defaultBackend)?[$backend]:[])`,
		"$none", claimOfEvery("'spec.rules'", mainField), "$every", claimOfEvery(path, mainField),
		"$backend", claimOfEvery("'spec.defaultBackend'", mainField),
		"$claim", claim(path, mainField, cel("[$name].map(name,name.startsWith('*.')&&variables.classes.exists(class,"+
			"$globbing)?'*'+name:name)[0]", "$name", oneLabel("text"), "$globbing", x.isGlobbing("class.class")), "text", "''"))
}

// isGlobbing returns a condition that a class is a globbing class, as package policy decides.
func (x *exporter) isGlobbing(class string) string {
	var listed, oneLabel []string
	for _, c := range texts(x.settings["globbingClasses"]) {
		if name, not := strings.CutPrefix(c, "!"); not {
			oneLabel = append(oneLabel, name)
		} else {
			listed = append(listed, c)
		}
	}
	return cel("($listed)||!($oneLabel)&&($byDefault)", "$listed", globs(listed, class),
		"$oneLabel", globs(oneLabel, class), "$byDefault", globs(policy.DefaultGlobbingClasses(), class))
}

// ingressClaims returns an expression for the claims of all fields of an Ingress. A host in spec.tls does not count if
// a rule also has it, unless the controller serves a wildcard at any depth.
func (x *exporter) ingressClaims() string {
	return cel(`[variables.hosts+object.spec.?tls.orValue([]).transformList(i,tls,[tls.?hosts.orValue([])].map(names,
		names.transformList(j,name,name!=''&&(j==0||name!=names[j-1])&&!(j<size(variables.hosts)&&
			name==variables.hosts[j].text&&!variables.hosts[j].pattern.startsWith('**.')),$claim))[0]).flatten()]
		.map(fields,fields+$annotations)[0]`,
		"$claim", claim("'spec.tls['+string(i)+'].hosts['+string(j)+']'", unserved, oneLabel("name"), "name", "''"),
		"$annotations", x.annotationClaims("fields", "Ingress"))
}

// ingressChecks returns the checks of an entry, in the order of policy/ingresses.go.
func ingressChecks(policy.Fields) []check {
	contradiction := of("classNames", "contradicts spec.ingressClassName: remove the annotation", always(oneFault(
		"size(variables.classes)==2&&variables.classes[0].class!=variables.classes[1].class",
		annotationPath(classAnnotation), "variables.classes[0].class+' '+variables.classes[1].class",
		"variables.classes[1].class")))
	contradiction.id = "classNames.contradiction"
	return slices.Concat(
		hostChecks("claims", "spec.rules"),
		unlessSolver(
			of("tls.required", "does not prevent plain HTTP for every class", always(
				oneFault("!variables.onlyTLS", "spec.tls", "''"))),
			of("tls.coversHosts", "is not in spec.tls[].hosts", always(coversHosts())),
			of("tls.allowHTTP", `is not "false"`, always(oneFault(
				annotationValue(allowHTTPAnnotation)+"!='false'", annotationPath(allowHTTPAnnotation), "''"))),
			of("classNames.required", "is not set", always(
				oneFault("size(variables.classes)==0", "spec.ingressClassName", "''"))),
			of("classNames.allowed", notAllowed, func(list any) string {
				return cel("variables.classes.filter(class,!($allowed)).map(class,$fault)",
					"$allowed", globs(texts(list), "class.class"), "$fault", fault("class.path", "class.class", "class.class"))
			}),
			contradiction,
		),
		unlessSolver(pathChecks("variables.regexPaths")...),
		// The characters that isUnsafeInPath in package policy rejects: some punctuation, white space and control characters.
		unlessSolver(pathCheck("paths.unsafeCharacters",
			"contains characters that inject text into the controller's configuration", func(any) string {
				return "path.path.matches(" + str("[`"+`"'\\{};#\pZ\x{0}-\x{1f}\x{7f}-\x{9f}]`) + ")"
			})),
		annotationChecks(),
		[]check{of("defaultBackend", "is denied: list hosts in spec.rules instead", always(
			oneFault("has(object.spec.defaultBackend)", "spec.defaultBackend", "''")))},
	)
}
