package export

// A claim is the set of hosts that one place in an object reaches, as in policy/internal/claim. In expressions it is a
// map:
//
//	path   the field
//	k      the kind of the place: see below
//	p      its hosts, as a pattern in lower case: a.example, *.a.example, **.a.example, or ** for every host
//	text   the text as written; empty if the claim does not come from a text
//	key    the key of an annotation; empty in other places
//	bad    y if the text cannot be read as a name and therefore means every host; s if it is a name that controls
//	       the hosts
//	all    ^ and the values of all annotations, if the claim represents the hosts after the first thousand; otherwise
//	       absent. No key contains ^, so a text cannot have the same identity
//
// In the expressions of checks, h is the claim.

// The kinds of places. A finding in one of the last two kinds is left out if another place claims the same hosts.
const (
	atRule     = "r" // a rule of an Ingress or a hostname of a route
	atNone     = "n" // an empty list of hosts
	atBackend  = "b" // a default backend next to rules
	atRepeated = "t" // an annotation or a listener
	atTLS      = "i" // spec.tls, whose hosts are not served
)

// claim returns an expression for the claim of a text that has been read as a pattern.
func claim(path, kind, pattern, written, key string) string {
	return bind("p", pattern, "{'path':"+path+",'k':'"+kind+"','p':p,'text':"+written+",'key':"+key+
		",'bad':p=='**'?'y':''}")
}

// everyClaim returns an expression for a claim of every host that does not come from a text.
func everyClaim(path, kind string) string {
	return "{'path':" + path + ",'k':'" + kind + "','p':'**','text':'','key':'','bad':''}"
}

// oneLabel returns an expression for the pattern of the name in the variable v. The * in *.example is one label. A
// text that is not a name means every host.
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

// maxHost is the maximum length of a host name.
const maxHost = 253

// anyDepth is like oneLabel, but *.example includes names at any depth.
func anyDepth(v string) string { return bind("o", oneLabel(v), "o.startsWith('*.')?'*'+o:o") }

// everyHost returns an expression for the beginning of a sentence about a claim of every host.
func everyHost() string {
	return "(h.k=='" + atBackend + "'?'serves every host that is not in a rule':h.bad=='y'?" + quote("h.text") +
		"+' may cover every host':'no host means every host')"
}

// setOne returns an expression for the end of a sentence that requires a host.
func setOne() string {
	return "(h.k=='" + atBackend + "'?'; list hosts in spec.rules instead':h.bad=='y'?'; write each host out':'; set one')"
}

// quotedHost returns an expression for the claim in sentences.
func quotedHost() string {
	return "(h.bad=='s'?" + quote("h.text") + "+' (which controls '+" + quote("h.p") +
		"+')':h.p.startsWith('**.')&&h.text!=''?" + quote("h.text") + "+' (names at any depth)':" + quote("h.p") + ")"
}

// hostID is an expression for the identity of a claim: its hosts, also the name if the name controls the hosts, or
// the text and the annotation if the text is not a name.
const hostID = "(h.k=='" + atTLS + "'||h.key!=''&&!h.key.lowerAscii().matches(" + serving + ")?'~':'')+" +
	"(h.bad=='s'?h.p+' '+h.text:h.bad=='y'&&(h.text!=''||h.key!='')?h.key+h.?all.orValue('')+' '+h.text:h.p)"

// serving is the CEL literal of a regular expression for the keys of annotations whose hosts a controller serves, as in
// package policy.
const serving = `'^[^/]*/(?:(?:server-alias|redirect-from)(?:-regex)?|from-to-www-redirect|host-aliases|` +
	`hostname-extension|skipper-(?:predicate|routes)|router[.]pathmatcher|domain|url|config|host|fqdn|route-acl|` +
	`config-(?:backend(?:-early|-late)?|tcp-service)|conditions[.].*|.*-snippet.*)$'`

// hostKnown is a condition that the fault y of a claim or a path existed before, possibly with a wider meaning. The
// identities of hosts in spec.tls and in annotations and of exact paths begin with ~.
const hostKnown = "y.id in o||y.id.startsWith('~')&&y.id.substring(1) in o"

// repeats is a condition that a claim is left out if it repeats another claim.
const repeats = "(h.k=='" + atRepeated + "'||h.k=='" + atTLS + "')"

// claimFaults returns an expression for the faults of the claims that meet a condition. It leaves out a claim that
// repeats another one, as package policy does: if an earlier claim has the same identity, or if the hosts are idle and
// any claim has the identity of hosts that are served. For texts that are not names, it leaves out a claim that is
// equal to the previous claim.
func claimFaults(claims, fails, why string) string {
	same := bind("b", claims+"[i-1]", "b.bad=='y'&&b.text==h.text&&b.key==h.key&&b.?all==h.?all")
	failing := claims + ".transformList(i,h,(" + fails + ")&&!(h.bad=='y'&&" + repeats + "&&i>0&&" + same +
		"),h)"
	repeated := bind("y", "g[i]", "y in g.slice(0,i)||y.startsWith('~')&&y.substring(1) in g")
	first := "!" + repeats + "||h.bad=='y'||!" + repeated
	return bind("f", failing, bind("g", "f.map(h,"+hostID+")", "f.transformList(i,h,"+first+","+
		fault("h.path", "g[i]", why)+")"))
}
