package export

import "strings"

// The expressions below do the same in CEL as policy/internal/match/reference.go and registry.go. The module
// equivalence compares the results image by image. A shorter regular expression is tried before a longer one if it is
// sufficient for nearly every image, because the cost of a match is the product of both lengths.

const (
	// usual matches references of at most 200 characters that are valid because of their characters.
	usual = `^(?:[a-z0-9]+(?:[.-][a-z0-9]+)*:[1-9][0-9]{3}/)?[a-z0-9]+(?:[._/-][a-z0-9]+)*` +
		`(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$`
	// normal matches references whose registry has only one spelling, except for hubAlias.
	normal = `^[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z][a-z0-9]*(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*)+` +
		`(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$`
	// hubAlias matches images of Docker Hub that have another full name.
	hubAlias = `^(?:index\.docker\.io/|docker\.io/[^/]*$)`
	// grammar matches all references. It does not check addresses in brackets and the length of paths, and it does
	// not exclude image IDs.
	grammar = `^(?:(?:[a-zA-Z0-9]+(?:(?:\.|-+)[a-zA-Z0-9]+)*|\[[a-fA-F0-9:]+\])(?::` + port + `)?/)?` +
		`[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*` +
		`(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?` +
		`(?:@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?$`
	// port matches a number from 1 to 65535.
	port = `0*(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])`
	// imageID matches strings that a runtime may treat as the ID of an image.
	imageID = `^(?:[a-f0-9]{64}|sha(?:256|384|512):[a-fA-F0-9]+)$`
	// normalHost matches hosts with only one spelling: names in lower case that contain a dot and do not end in a
	// number.
	normalHost = `^[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z][a-z0-9]*$`
)

// fullName returns an expression for the full name and the version of an image, such as docker.io/library/nginx:1.25.
// v is a variable with a reference, with or without a slash.
func fullName(v string) string {
	const first, rest = "f", "r"
	isRegistry := first + ".contains('.')||" + first + ".contains(':')||" + first + "=='localhost'||" +
		first + "!=" + first + ".lowerAscii()"
	hub := choose(rest+".contains('/')", "'docker.io/'", "'docker.io/library/'") + "+" + rest
	named := bind("g", normalRegistry(first), choose("g in ['docker.io','index.docker.io']",
		bind(rest, v+".substring(size("+first+")+1)", hub), "g+"+v+".substring(size("+first+"))"))
	return choose("!"+v+".contains('/')", "'docker.io/library/'+"+v,
		bind(first, v+".find('^[^/]*')", choose(isRegistry, named, "'docker.io/'+"+v)))
}

// normalRegistry returns an expression for the canonical form of the registry in the variable f.
func normalRegistry(f string) string {
	const host, address = "h", "a"
	hosts := choose(host+".startsWith('[')", normalIPv6(host), bind(address, host+".lowerAscii()",
		choose(address+".matches("+str(`(?:^|\.)(?:0x[0-9a-f]*|[0-9]+)$`)+")", looseIPv4(address), address)))
	// The default protocol of registries is HTTPS, so its port is removed. A host without a dot keeps the port,
	// because without it the host would be parsed as a path.
	ports := bind("p", f+".substring(size("+host+")).find('[1-9][0-9]*$')", choose(
		"n.contains('.')||n.contains(':')||n=='localhost'",
		choose("p in ['','443']", "n", "n+':'+p"), choose("p==''", "n+':443'", "n+':'+p")))
	return choose(f+".matches("+str(normalHost)+")", f,
		bind(host, choose(f+".startsWith('[')", f+`.find('^\\[[^\\]]*\\]')`, f+".find('^[^:]*')"), bind("n", hosts, ports)))
}

// normalIPv6 returns an expression for the canonical form of an address in brackets. For an IPv4-mapped address it is
// the IPv4 address without brackets. Other texts stay unchanged.
func normalIPv6(host string) string {
	inner := choose("size("+host+")<2", "''", host+".substring(1,size("+host+")-1)")
	return bind("i", inner, choose("isIP(i)", "'['+string(ip(i))+']'",
		bind("u", unmapped("i"), choose("u==''", host, "u"))))
}

// unmapped returns an expression for the IPv4 address of an IPv4-mapped IPv6 address. For other texts it is empty.
// ip() rejects such addresses, so they are parsed with another group instead of ffff.
func unmapped(address string) string {
	dotted := bind("q", "t.substring(7).split(':').map(x,"+digits("x", "16")+")",
		"string(q[0]/256)+'.'+string(q[0]%256)+'.'+string(q[1]/256)+'.'+string(q[1]%256)")
	return bind("m", address+".lowerAscii().replace('ffff','fffe',1)", choose("isIP(m)",
		bind("t", "string(ip(m))", choose("t.matches('^::fffe:[0-9a-f]+:[0-9a-f]+$')", dotted, "''")), "''"))
}

// isIPv6 returns a condition that the registry of v is an IPv6 address or is not in brackets.
func isIPv6() string {
	return "!v.startsWith('[')||" + bind("h", `v.find('^\\[[^\\]]*\\]')`,
		bind("i", choose("size(h)<2", "''", "h.substring(1,size(h)-1)"),
			"isIP(i)||"+unmapped("i")+"!=''"))
}

// looseIPv4 returns an expression for a host that ends in a number, parsed like inet_aton(3) does. The host consists
// of one to four decimal, octal or hexadecimal numbers. The last number fills all remaining bytes. A host that is not
// an address stays unchanged.
func looseIPv4(host string) string {
	// All numbers except the last have at most as many digits as a byte. Checking the length costs less than
	// computing a larger number.
	const last = "k==size(b)-1"
	number := choose("d.matches('^0x0*[0-9a-f]{0,8}$')&&size(d)>2&&("+last+"||d.matches('^0x0*[0-9a-f]{0,2}$'))",
		digits("d.substring(2)", "16"),
		choose("d.matches('^0[0-7]+$')&&size(d.find('[1-7][0-7]*$'))<=("+last+"?11:3)", digits("d.substring(1)", "8"),
			choose("d.matches('^(?:0|[1-9][0-9]{0,9})$')", "int(d)", "-1")))
	address := "string(v/16777216)+'.'+string(v/65536%256)+'.'+string(v/256%256)+'.'+string(v%256)"
	bytes := "lists.range(size(w)).map(k," + choose("k==size(w)-1", "w[k]", "w[k]*[16777216,65536,256][k]") + ").sum()"
	fits := "size(w)<=4&&w.all(x,x>=0)&&w.slice(0,size(w)-1).all(x,x<=255)&&" +
		"w[size(w)-1]<=[4294967295,16777215,65535,255][size(w)-1]"
	numbers := bind("b", host+".split('.')", "b.transformList(k,d,"+number+")")
	return choose("isIP("+host+")", host, bind("w", numbers, choose(fits, bind("v", bytes, address), host)))
}

// digits returns an expression for the number in a text. Without leading zeros, the text has at most eight digits in
// base 16 or eleven digits in base 8.
func digits(text, base string) string {
	powers := "[1,16,256,4096,65536,1048576,16777216,268435456]"
	if base == "8" {
		powers = "[1,8,64,512,4096,32768,262144,2097152,16777216,134217728,1073741824]"
	}
	return bind("c", text+".find('[1-9a-f][0-9a-f]*$').split('')",
		"lists.range(size(c)).map(k,{'0':0,'1':1,'2':2,'3':3,'4':4,'5':5,'6':6,'7':7,'8':8,'9':9,"+
			"'a':10,'b':11,'c':12,'d':13,'e':14,'f':15}[c[k]]*"+powers+"[size(c)-1-k]).sum()")
}

// isReference returns a condition that the variable v is a valid reference. The variable n is its full name.
func isReference() string {
	slow := allOf("size(v)<=1024", "v.matches("+str(grammar)+")", isIPv6(),
		"v.contains('/')||!v.matches("+str(imageID)+")",
		"size(n)-n.indexOf('/')-1<=255",
		"size(n)<=255||!n.find('^[^/]*').contains('_')")
	return "size(v)<=200&&(v.contains('/')||size(v)!=64&&!v.startsWith('sha'))&&v.matches(" + str(usual) + ")||(" +
		slow + ")"
}

// isNormal returns a condition that a text is a full reference in its canonical form, with a registry that is a name
// in lower case. It checks only characters. It is fast and sufficient for most images.
func isNormal(v string) string {
	return "size(" + v + ")<=200&&!" + v + ".startsWith('[')&&" + v + ".matches(" + str(normal) + ")&&!" +
		v + ".matches(" + str(hubAlias) + ")"
}

// keptFields returns fields of x as parts of a map.
func keptFields(names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("'" + name + "':x." + name + ",")
	}
	return b.String()
}

// references returns an expression that adds fields to each element of a list: the full name of its image, its
// version, and ok if it is a valid reference. Elements are maps of strings.
func references(list string, keep ...string) string {
	kept := keptFields(keep)
	const name = `.find('^(?:[^/]*/)*[^/:@]*')`
	quick := bind("n", "x.ref"+name, "{"+kept+"'name':n,'version':x.ref.substring(size(n)),'ok':'y'}")
	slow := bind("f", bind("v", "x.ref", fullName("v")), bind("n", "f"+name, "{"+kept+"'name':n,"+
		"'version':f.substring(size(n)),'ok':"+bind("v", "x.ref", isReference())+"?'y':''}"))
	return list + ".map(x," + choose(isNormal("x.ref"), quick, slow) + ")"
}

// places returns an expression for the places of a name: the name and all its parents up to the registry.
func places(name string) string {
	return bind("s", name+".split('/')", "lists.range(size(s)).map(k,s.slice(0,size(s)-k).join('/'))")
}

// quoted is an expression for the image x in sentences: in quotes, and truncated to 256 characters.
const quoted = "(size(x.ref)<=256?strings.quote(x.ref):strings.quote(x.ref.substring(0,256))+'…')"
