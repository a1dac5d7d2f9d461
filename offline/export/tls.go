package export

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy"
)

// namesTLS is a condition that spec.tls has a host or a Secret.
const namesTLS = "object.spec.?tls.orValue([]).exists(tls,tls.?secretName.orValue('')!=''||" +
	"tls.?hosts.orValue([]).exists(host,host!=''))"

// onlyTLS returns a condition that each class of an Ingress serves it only over TLS.
func onlyTLS() string {
	served := "variables.namesTLS"
	for _, c := range policy.TLSClasses() {
		ways := make([]string, len(c.Ways))
		for i, w := range c.Ways {
			ways[i] = tlsWay(w)
		}
		served = choose("class.class in "+set(c.Names), anyOf(ways...), served)
	}
	return "size(variables.classes)==0?variables.namesTLS:variables.classes.all(class," + served + ")"
}

// tlsWay returns a condition that an Ingress is served only over TLS in this way.
func tlsWay(w policy.TLSWay) string {
	var conditions []string
	if w.Carrier == policy.TLSInSpec {
		conditions = append(conditions, "variables.namesTLS")
	}
	if w.Ports != "" {
		conditions = append(conditions, httpsOnly(w))
	}
	for _, a := range w.Annotations {
		passes := func(value string) string {
			if a.Values == nil {
				return value + ".matches(" + str(element) + ")"
			}
			return value + " in " + set(a.Values)
		}
		if suffix, anyPrefix := strings.CutPrefix(a.Key, "*"); anyPrefix {
			conditions = append(conditions, bind("annotations", "object.metadata.?annotations.orValue({})",
				"annotations.all(key,!key.lowerAscii().endsWith("+str(suffix)+")||"+passes("annotations[key]")+")"))
		} else {
			conditions = append(conditions, passes(annotationValue(a.Key)))
		}
	}
	return allOf(conditions...)
}

// httpsOnly returns the condition httpsOnly of package policy.
func httpsOnly(w policy.TLSWay) string {
	const pair = `"HTTPS?":[1-9][0-9]{0,4}`
	return cel(`size($ports)<=$max&&[$ports.replace(' ','').replace('\t','').replace('\n','').replace('\r','')].map(ports,
		ports.matches($list)&&(!ports.contains('"HTTP":')||[$redirect].map(to,to=='true'?'443':to).exists(to,
			to.matches('^[1-9][0-9]{0,4}$')&&(ports.contains('"HTTPS":'+to+',')||ports.contains('"HTTPS":'+to+'}')))))[0]`,
		"$ports", annotationValue(w.Ports), "$max", strconv.Itoa(policy.MaxListenPorts),
		"$list", str(`^\[\{`+pair+`(?:(?:,|\},\{)`+pair+`)*\}\]$`), "$redirect", annotationValue(w.Redirect))
}

// coversHosts returns an expression for the faults of hosts without a certificate. A certificate has a host at any
// depth as a host of one label.
func coversHosts() string {
	return cel(`size(object.spec.?tls.orValue([]))==0&&variables.onlyTLS?[]
		:[object.spec.?tls.orValue([]).map(tls,tls.?hosts.orValue([])).flatten()].map(certified,
			variables.hosts.filter(claim,![claim.pattern.startsWith('**.')?claim.pattern.substring(1):claim.pattern].exists(name,
				name in certified||!name.startsWith('*')&&name.contains('.')&&'*'+name.substring(name.indexOf('.')) in certified))
			.map(claim,$fault))[0]`,
		"$fault", fault("claim.path", claimID(), "claim.text==''?claim.pattern:claim.text"))
}
