package export

// A claim is the hosts that one place of an object reaches, as in policy/host_claims.go. In expressions it is a map:
//
//	path   the field
//	k      the kind of the place: see below
//	p      its hosts, as a pattern in lower case: a.example, *.a.example, **.a.example, ** for every host
//	text   as it is written; empty where no text makes the claim
//	key    of an annotation; empty in other places
//	bad    y where the text cannot be read as a name, and therefore is every host; s where it is a name that controls
//	       the hosts
//
// Expressions of checks speak of the claim h.

// The kinds of places. A finding in one of the last two kinds is left out if a place before it claims the same hosts.
const (
	atRule     = "r" // a rule of an Ingress, a hostname of a route
	atNone     = "n" // a list of hosts that is empty
	atBackend  = "b" // a default backend beside rules
	atRepeated = "t" // an annotation, a listener
	atTLS      = "i" // spec.tls, for whose hosts nothing is served
)

// claim returns the claim of a text that has been read as a pattern.
func claim(path, kind, pattern, written, key string) string {
	return bind("p", pattern, "{'path':"+path+",'k':'"+kind+"','p':p,'text':"+written+",'key':"+key+
		",'bad':p=='**'?'y':''}")
}

// everyClaim returns a claim of every host that no text makes.
func everyClaim(path, kind string) string {
	return "{'path':" + path + ",'k':'" + kind + "','p':'**','text':'','key':'','bad':''}"
}

// oneLabel returns the pattern that the variable v stands for as a name: *.example is one label. What is no name is
// every host.
func oneLabel(v string) string {
	const (
		usual = `^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$`
		name  = `^(?:\*\.)?[a-zA-Z0-9_-]+(?:\.[a-zA-Z0-9_-]+)*\.?$`
	)
	lower := bind("n", v+".lowerAscii()", "n.endsWith('.')?n.substring(0,size(n)-1):n")
	other := choose(v+".matches("+str(name)+")",
		bind("n", lower, "size(n)-(n.startsWith('*.')?2:0)<="+number(maxHost)+"?n:'**'"), "'**'")
	return choose("size("+v+")<="+number(maxHost)+"&&"+v+".matches("+str(usual)+")", v, other)
}

// maxHost is the length of the longest host name.
const maxHost = 253

// anyDepth is oneLabel, but that *.example is names at any depth.
func anyDepth(v string) string { return bind("o", oneLabel(v), "o.startsWith('*.')?'*'+o:o") }

// everyHost begins a sentence about a claim of every host.
func everyHost() string {
	return "(h.k=='" + atBackend + "'?'serves every host that no rule names':h.bad=='y'?" + quote("h.text") +
		"+' may stand for every host':'no host is set, which means every host')"
}

// setOne ends a sentence that requires a host.
func setOne() string {
	return "(h.k=='" + atBackend + "'?'; name hosts in spec.rules instead':h.bad=='y'?'; write each host out':'; set one')"
}

// quotedHost is what sentences call the claim.
func quotedHost() string {
	return "(h.bad=='s'?" + quote("h.text") + "+' (which controls '+" + quote("h.p") +
		"+')':h.p.startsWith('**.')&&h.text!=''?" + quote("h.text") + "+' (names at any depth)':" + quote("h.p") + ")"
}

// hostID is the identity of a claim: its hosts, of a name that controls them with the name, or, of a text that is no
// name, the text and the annotation.
const hostID = "(h.k=='" + atTLS + "'?'~':'')+" +
	"(h.bad=='s'?h.p+' '+h.text:h.bad=='y'&&(h.text!=''||h.key!='')?h.key+' '+h.text:h.p)"

// hostKnown is whether the fault y of a claim or a path was there before, also as one that means more: a ~ begins the
// identities of hosts in spec.tls and of exact paths.
const hostKnown = "y.id in o||y.id.startsWith('~')&&y.id.substring(1) in o"

// repeats returns whether a claim is left out where one before it has the same hosts.
const repeats = "(h.k=='" + atRepeated + "'||h.k=='" + atTLS + "')"

// claimFaults returns the faults of the claims for which a condition holds. Those of a text that is no name are left
// out where the claim before is the same.
func claimFaults(claims, fails, why string) string {
	same := bind("b", claims+"[i-1]", "b.bad=='y'&&b.text==h.text&&b.key==h.key")
	failing := claims + ".transformList(i,h,(" + fails + ")&&!(h.bad=='y'&&" + repeats + "&&i>0&&" + same +
		"),h)"
	first := "!" + repeats + "||h.bad=='y'||!f.slice(0,i).exists(b,b.bad!='y'&&b.p==h.p)"
	return bind("f", failing, "f.transformList(i,h,"+first+","+fault("h.path", hostID, why)+")")
}
