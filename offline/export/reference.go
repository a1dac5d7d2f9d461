package export

import "strings"

// The expressions below read image references like policy/internal/match/reference.go and registry.go. The module
// equivalence compares the results image by image. A shorter regular expression is tried before a longer one if it is
// sufficient for nearly every image, because the cost of a match is the product of both lengths.

const (
	// normal matches references whose full name is the reference itself, except for hubAlias.
	normal = `^[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z][a-z0-9]*(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*)+` +
		`(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$`
	// hubAlias matches images of Docker Hub that have another full name.
	hubAlias = `^(?:index\.docker\.io/|docker\.io/[^/]*$)`
	// usual matches references of at most 200 characters that are valid if their registry is.
	usual = `^(?:[a-z0-9]+(?:[.-][a-z0-9]+)*:[1-9][0-9]{3}/)?[a-z0-9]+(?:[._/-][a-z0-9]+)*` +
		`(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$`
	// grammar matches all references. It does not check addresses and the length of paths, and it does not exclude IDs of
	// images.
	grammar = `^(?:(?:[a-zA-Z0-9]+(?:(?:\.|-+)[a-zA-Z0-9]+)*|\[[a-fA-F0-9:]+\])(?::` + port + `)?/)?` +
		`[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*` +
		`(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?` +
		`(?:@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?$`
	// isShort is a condition that a valid reference is written without a registry.
	isShort = `(!image.ref.contains('/')||!image.ref.find('^[^/]*').matches('[.:A-Z]|^localhost$'))`
	// port matches a number from 1 to 65535.
	port = `(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])`
	// imageID matches strings that a runtime may read as the ID of an image.
	imageID = `^(?:[a-f0-9]{64}|sha(?:256|384|512):[a-fA-F0-9]+)$`
	// numeric matches references whose first segment is a host that ends in a number.
	numeric = `^(?:[a-zA-Z0-9.-]+\.)?(?:0[xX][0-9a-fA-F]*|[0-9]+)(?::[0-9]+)?/`
)

// references returns an expression that adds two fields to each image in a list: its full name, such as
// docker.io/library/nginx, and its version. It keeps some fields. The name is empty if the reference, the field ref, is
// malformed.
func (x *exporter) references(list string, kept ...string) string {
	var fields strings.Builder
	for _, name := range kept {
		fields.WriteString("'" + name + "':image." + name + ",")
	}
	parts := func(full, name string) string {
		return cel(`[$full].map(full,[full.find('^(?:[^/]*/)*[^/:@]*')].map(name,
			{$fields'name':$name,'version':full.substring(size(name))})[0])[0]`,
			"$full", full, "$fields", fields.String(), "$name", name)
	}
	return cel(`$list.map(image,size(image.ref)<=200&&image.ref.matches($normal)&&!image.ref.matches($hubAlias)
		?$usual:$other)`, "$list", list, "$normal", str(normal), "$hubAlias", str(hubAlias),
		"$usual", parts("image.ref", "name"), "$other", parts(x.fullReference(), isReference()+"?name:''"))
}

// fullReference is an expression for the full name and the version of an image. A registry is in lower case, without
// the default port of HTTPS. A host without a dot keeps the port, because it would otherwise be part of a path.
func (x *exporter) fullReference() string {
	official, others := "'docker.io/library/'", "'docker.io/'"
	if registry, ok := x.settings["shortNameRegistry"].(string); ok && registry != dockerHub {
		official, others = str(registry+"/"), str(registry+"/")
	}
	const registry = `[first.lowerAscii()].map(host,host.matches('[.\\[]|^localhost(?::|$)')
		?(host.endsWith(':443')?host.substring(0,size(host)-4):host):(host.contains(':')?host:host+':443'))[0]`
	return cel(`(!image.ref.contains('/')?$official+image.ref:[image.ref.find('^[^/]*')].map(first,
		first.matches('[.:A-Z]|^localhost$')
			?[$registry].map(registry,registry in ['docker.io','index.docker.io']
				?[image.ref.substring(size(first)+1)].map(path,
					(path.contains('/')?'docker.io/':'docker.io/library/')+path)[0]
				:registry+image.ref.substring(size(first)))[0]
			:$others+image.ref)[0])`, "$registry", cel(registry), "$official", official, "$others", others)
}

// isReference is a condition that an image is a valid reference. The variable name is its full name.
func isReference() string {
	const (
		address = `(image.ref.startsWith('[')
			?[image.ref.find('^\\[[^/]*\\]').lowerAscii()].map(host,size(host)>2&&[host.substring(1,size(host)-1)]
				.map(address,isIP(address)&&ip.isCanonical(address))[0])[0]
			:!image.ref.matches($numeric)||image.ref.matches('^[a-z0-9]+/')||isIP(image.ref.find('^[^/:]*')))`
		quick = `size(image.ref)<=200&&(image.ref.contains('/')||size(image.ref)!=64&&!image.ref.startsWith('sha'))
			&&image.ref.matches($usual)`
		slow = `size(image.ref)<=1024&&image.ref.matches($grammar)
			&&(image.ref.contains('/')||!image.ref.matches($imageID))
			&&size(name)-name.indexOf('/')-1<=255&&(size(name)<=255||!name.find('^[^/]*').contains('_'))`
	)
	return cel("("+address+"&&("+quick+"||"+slow+"))", "$numeric", str(numeric), "$usual", str(usual),
		"$grammar", str(grammar), "$imageID", str(imageID))
}

// places returns an expression for the places of a name: the name and all its parents up to the registry.
func places(name string) string {
	return cel(`[$name.split('/')].map(parts,lists.range(size(parts)).map(n,parts.slice(0,size(parts)-n).join('/')))[0]`,
		"$name", name)
}
