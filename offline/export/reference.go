package export

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
	// port matches a number from 1 to 65535.
	port = `(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])`
	// imageID matches strings that a runtime may read as the ID of an image.
	imageID = `^(?:[a-f0-9]{64}|sha(?:256|384|512):[a-fA-F0-9]+)$`
	// numeric matches references whose first segment is a host that ends in a number.
	numeric = `^(?:[a-zA-Z0-9.-]+\.)?(?:0[xX][0-9a-fA-F]*|[0-9]+)(?::[0-9]+)?/`
)

// references returns an expression that adds two fields to each image in a list: its full name, such as
// docker.io/library/nginx, and its version. Both are empty if its reference, the field ref, is malformed.
func references(list string, kept ...string) string {
	parts := func(full, valid string) string {
		fields := keptFields(kept)
		return cel(`[$full].map(full,[full.find('^(?:[^/]*/)*[^/:@]*')].map(name,{$fields'name':name,'version':full.substring(size(name)),
			'ok':$valid?'y':''})[0])[0]`, "$full", full, "$valid", valid, "$fields", fields)
	}
	return cel(`$list.map(x,$isNormal?$normal:$other)`, "$list", list,
		"$isNormal", cel(`(size(x.ref)<=200&&x.ref.matches($normal)&&!x.ref.matches($hubAlias))`,
			"$normal", str(normal), "$hubAlias", str(hubAlias)),
		"$normal", parts("x.ref", "true"), "$other", parts(fullReference(), isReference()))
}

// keptFields returns fields of an image as parts of a map.
func keptFields(names []string) string {
	fields := ""
	for _, name := range names {
		fields += "'" + name + "':x." + name + ","
	}
	return fields
}

// fullReference is an expression for the full name and the version of an image. A registry is in lower case, without
// the default port of HTTPS. A host without a dot keeps the port, because it would otherwise be part of a path.
func fullReference() string {
	const registry = `[first.lowerAscii()].map(host,host.matches('[.\\[]|^localhost(?::|$)')
		?(host.endsWith(':443')?host.substring(0,size(host)-4):host):(host.contains(':')?host:host+':443'))[0]`
	return cel(`(!x.ref.contains('/')?'docker.io/library/'+x.ref:[x.ref.find('^[^/]*')].map(first,
		first.matches('[.:A-Z]|^localhost$')
			?[$registry].map(registry,registry in ['docker.io','index.docker.io']
				?[x.ref.substring(size(first)+1)].map(path,
					(path.contains('/')?'docker.io/':'docker.io/library/')+path)[0]
				:registry+x.ref.substring(size(first)))[0]
			:'docker.io/'+x.ref)[0])`, "$registry", cel(registry))
}

// isReference is a condition that an image is a valid reference. The variable name is its full name.
func isReference() string {
	const (
		address = `(x.ref.startsWith('[')
			?[x.ref.find('^\\[[^/]*\\]').lowerAscii()].map(host,size(host)>2&&[host.substring(1,size(host)-1)]
				.map(address,isIP(address)&&ip.isCanonical(address))[0])[0]
			:!x.ref.matches($numeric)||x.ref.matches('^[a-z0-9]+/')||isIP(x.ref.find('^[^/:]*')))`
		quick = `size(x.ref)<=200&&(x.ref.contains('/')||size(x.ref)!=64&&!x.ref.startsWith('sha'))
			&&x.ref.matches($usual)`
		slow = `size(x.ref)<=1024&&x.ref.matches($grammar)
			&&(x.ref.contains('/')||!x.ref.matches($imageID))
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

// quoted is an expression for the image x in sentences: in quotes, and truncated to 256 characters.
const quoted = "(size(x.ref)<=256?strings.quote(x.ref):strings.quote(x.ref.substring(0,256))+'…')"
