package export

import "strconv"

// tlsClass is a class whose certificates are set by annotations. Its expressions do the same as tlsAnnotations in
// package policy.
type tlsClass struct {
	names  []string
	served func(side) string // whether the Ingress is served only with TLS
	lacks  func(side) string // the annotation that is missing for that; nil if sentences never contain one
}

// annotationValue returns an expression for the value of an annotation. It is empty if the annotation is absent.
func annotationValue(s side, key string) string {
	return string(s) + ".metadata.?annotations[?'" + key + "'].orValue('')"
}

// tlsClasses returns the classes whose certificates are set by annotations.
func tlsClasses() []tlsClass {
	hasElement := ".matches(" + str(element) + ")"
	const traefik = "traefik.ingress.kubernetes.io/router.tls"
	const alb, gke = "alb.ingress.kubernetes.io/", "networking.gke.io/managed-certificates"
	hasPorts := func(s side) string {
		return "has(" + string(s) + ".metadata.annotations)&&'" + alb + "listen-ports' in " +
			string(s) + ".metadata.annotations"
	}
	onlyTLS := func(s side) string {
		ports := annotationValue(s, alb+"listen-ports") +
			`.replace(' ','').replace('\t','').replace('\n','').replace('\r','')`
		const pair = `"HTTPS?":[1-9][0-9]{0,4}`
		list := `^\[\{` + pair + `(?:(?:,|\},\{)` + pair + `)*\}\]$`
		redirected := bind("q", choose(annotationValue(s, alb+"ssl-redirect")+"=='true'", "'443'",
			annotationValue(s, alb+"ssl-redirect")), "q.matches('^[1-9][0-9]{0,4}$')&&"+
			`(n.contains('"HTTPS":'+q+',')||n.contains('"HTTPS":'+q+'}'))`)
		return "size(" + annotationValue(s, alb+"listen-ports") + ")<=" + strconv.Itoa(maxListenPorts) + "&&" +
			bind("n", ports, "n.matches("+str(list)+`)&&(!n.contains('"HTTP":')||`+redirected+")")
	}
	certifiedByGKE := func(s side) string {
		return "(" + annotationValue(s, gke) + hasElement + "||" +
			annotationValue(s, "ingress.gcp.kubernetes.io/pre-shared-cert") + hasElement + ")"
	}
	httpOff := func(s side) string { return annotationValue(s, allowHTTPAnnotation) + "=='false'" }
	is := func(key, value string) func(side) string {
		return func(s side) string { return annotationValue(s, key) + value }
	}
	return []tlsClass{
		{
			[]string{"alb"},
			func(s side) string {
				return choose(hasPorts(s), onlyTLS(s), annotationValue(s, alb+"certificate-arn")+hasElement)
			},
			func(s side) string {
				return choose(hasPorts(s)+"&&!("+onlyTLS(s)+")", str("list only HTTPS in the annotation "+alb+
					"listen-ports, or set "+alb+"ssl-redirect to an HTTPS port"), "''")
			},
		},
		{
			[]string{"azure-application-gateway", "azure/application-gateway"},
			is("appgw.ingress.kubernetes.io/appgw-ssl-certificate", hasElement), nil,
		},
		{
			[]string{"gce", "gce-internal"},
			func(s side) string { return certifiedByGKE(s) + "&&" + httpOff(s) },
			func(s side) string {
				return choose(certifiedByGKE(s)+"&&!("+httpOff(s)+")", str(`set the annotation `+allowHTTPAnnotation+
					` to "false"`), "''")
			},
		},
		{
			[]string{"traefik"},
			func(s side) string {
				return choose("has("+string(s)+".metadata.annotations)&&'"+traefik+"' in "+string(s)+".metadata.annotations",
					annotationValue(s, traefik)+".lowerAscii()=='true'",
					annotationValue(s, traefik+".certresolver")+"+"+annotationValue(s, traefik+".options")+"!=''")
			}, nil,
		},
		{[]string{"kong"}, is("konghq.com/protocols", " in ['https','grpcs']"), nil},
	}
}

// maxListenPorts limits the length of the annotation listen-ports in characters, as in package policy.
const maxListenPorts = 2048

// servedByTLS returns a condition that every class of an Ingress serves it only with TLS because of its annotations.
func servedByTLS(s side) string {
	classes, served := "variables.classes"+s.suffix(), "false"
	for _, c := range tlsClasses() {
		served = choose("c.class in "+set(c.names), c.served(s), served)
	}
	return "(size(" + classes + ")>0&&" + classes + ".all(c," + served + "))"
}

// tlsLacks returns an expression for the end of the sentence about an Ingress that may be served without TLS. It
// contains the annotation that its last class needs.
func tlsLacks(s side) string {
	classes, lacks := "variables.classes"+s.suffix(), "''"
	for _, c := range tlsClasses() {
		if c.lacks != nil {
			lacks = choose("c.class in "+set(c.names), c.lacks(s), lacks)
		}
	}
	return bind("l", classes+".map(c,"+lacks+")", "size(l)==0||l[size(l)-1]==''?'':', or '+l[size(l)-1]")
}
