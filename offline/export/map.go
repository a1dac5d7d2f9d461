package export

import (
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

const (
	// maxAnnotations is the limit of the API server for the total size of annotations of an object, in bytes.
	maxAnnotations = 256 << 10
	// maxRecord limits the record of original images, in bytes, as in package policy.
	maxRecord = 16 << 10
)

// rewrites reports whether the exported policy rewrites images by an entry.
func (e *mirrorEntry) rewrites() bool { return e.Mode == policy.Enforce && e.native() }

// exportMirrors exports the mirrors entries as one policy that rewrites. Its table contains all entries, because an
// entry does not rewrite an image that is at the mirror of another entry or that a weaker entry covers.
func (x *exporter) exportMirrors() {
	if !slices.ContainsFunc(x.mirrors.active, (*mirrorEntry).rewrites) {
		return
	}
	const name = "evergate-mirrors"
	patch := x.patch()
	x.add(Object{
		Comment: []string{
			"mirrors: rewrites images to their mirrors, and records the original ones. Kubernetes 1.36.",
			"rewrites Pods with up to " + strconv.Itoa(LargestPod(1)) + " images of 100 characters; the API server denies " +
				"Pods that exceed its cost budget",
		},
		Object: &admissionv1.MutatingAdmissionPolicy{
			TypeMeta: typeMeta("MutatingAdmissionPolicy"), ObjectMeta: x.meta(name),
			Spec: admissionv1.MutatingAdmissionPolicySpec{
				FailurePolicy:      new(admissionv1.Fail),
				ReinvocationPolicy: admissionv1.IfNeededReinvocationPolicy,
				MatchConstraints:   &admissionv1.MatchResources{ResourceRules: podResources()},
				MatchConditions:    append(podConditions(), x.somethingToMove()),
				Variables:          variablesOf(referenced(x.mapVariables(), patch)),
				Mutations: []admissionv1.Mutation{{
					PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: patch},
				}},
			},
		},
	})
	x.add(Object{Object: &admissionv1.MutatingAdmissionPolicyBinding{
		TypeMeta: typeMeta("MutatingAdmissionPolicyBinding"), ObjectMeta: x.meta(name),
		Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name, MatchResources: x.namespaces()},
	}})
}

// somethingToMove skips Pods whose images are all at mirrors. Without it, the API server would patch and reinvoke
// them for no reason. It contains the places of the mirrors, because conditions are evaluated before variables.
func (x *exporter) somethingToMove() admissionv1.MatchCondition {
	return admissionv1.MatchCondition{
		Name: "something-to-move", Expression: cel("![$places].all(places,$allImages)", "$places", set(x.mirrors.places),
			"$allImages", allImages(places("item.image")+".exists(place,place in places)")),
	}
}

// allImages returns a condition that all containers meet a condition, and that no volume or profile has an image.
func allImages(condition string) string {
	all := []string{"[object.spec].all(item," + profile + "=='')&&" +
		"object.spec.?volumes.orValue([]).all(item,!has(item.image))"}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		all = append(all, "object.spec.?"+list+".orValue([]).all(item,has(item.image)&&"+condition+"&&"+profile+"=='')")
	}
	return strings.Join(all, "&&")
}

// mapVariables returns the variables of the policy that rewrites.
func (x *exporter) mapVariables() []variable {
	vars, named := bothSides(append([]variable{
		{"images", imagesOf("{'path':'$pointer','key':'$key/'+item.?name.orValue('')," +
			"'ref':string($image),'never':$pullPolicy.orValue('')=='Never'?'y':''}")},
		// CEL evaluates a variable only when it is used. These variables about the old object are used only on an update.
		{"kept_before", "variables.images_before.map(image,image.key+' '+image.ref)"},
		{"references_before", x.references("variables.images_before", "path", "ref")},
		// An image that kubelet never pulls keeps its name, and so does the placeholder that Istio's injector replaces.
		{"references", x.references("variables.images.filter(image,image.never==''&&!(image.ref=='auto'&&"+
			"(image.key.endsWith('/istio-proxy')||'inject.istio.io/templates' in object.metadata.?annotations.orValue({})))&&"+
			"(oldObject==null||!((image.key+' '+image.ref) in variables.kept_before)))", "path", "ref", "key")},
	}, x.mirrors.variables()...))
	var denied []string
	for _, e := range x.entries {
		for _, c := range e.checks {
			if e.Mode != policy.Enforce || !slices.Contains([]string{"images.denied", "images.deniedTags"}, c.id) {
				continue
			}
			faults := faultsOf(e, &c)
			vars = append(vars, faults, identitiesBefore(faults, named))
			denied = append(denied, cel("variables.$name.filter(fault,!($known)).map(fault,fault.path)", "$name", faults.name,
				"$known", c.wasKnown(faults.name)))
		}
	}
	// Enforced rules deny these original images, so they are not rewritten.
	moves := x.mirrors.rewritten("variables.references")
	if len(denied) > 0 {
		vars = append(vars, variable{"denied", strings.Join(denied, "+")})
		moves += ".filter(move,!(move.path in variables.denied))"
	}
	return append(append(vars, variable{"moves", moves}), x.record()...)
}

// recorded is an expression for the annotation with the record.
const recorded = "object.metadata.?annotations[?'" + object.OriginalsAnnotation + "'].orValue('')"

// record returns the variables of the record of original images. It contains the images that are rewritten now, and
// the entries of the existing record that can be verified. An entry is verified if its image would be rewritten to
// the current image.
func (x *exporter) record() []variable {
	const member = `"[^"\\]*"\s*:\s*"[^"\\]*"`
	return []variable{
		{"earlier", cel(`(size($record)<=$max&&$record.matches($members)?$record.findAll($member):[])
			.map(member,member.findAll('"[^"]*"').map(text,text.substring(1,size(text)-1)))
			.map(texts,{'key':texts[0],'ref':texts[1]})`, "$record", recorded, "$max", strconv.Itoa(maxRecord),
			"$members", str(`^\s*\{\s*`+member+`\s*(?:,\s*`+member+`\s*)*\}\s*$`), "$member", str(member))},
		// The last record of a container counts. The field path is its current image.
		{"recorded", `size(variables.earlier)==0?[]:variables.images.filter(image,` +
			`!variables.moves.exists(move,move.path==image.path)).map(image,variables.earlier.filter(old,old.key==image.key)` +
			`.map(old,{'path':image.ref,'key':image.key,'ref':old.ref})).filter(all,size(all)>0).map(all,all[size(all)-1])`},
		{"kept", x.mirrors.rewritten("("+x.references("variables.recorded", "path", "ref", "key")+")") +
			".filter(move,move.name+move.version==move.path)"},
		{"record", `'{'+(variables.moves+variables.kept).map(move,'"'+move.key+'":"'+move.ref+'"').sort().join(',')+'}'`},
		{"room", cel(`$max-size(bytes([object.metadata.?annotations.orValue({})].map(annotations,
			annotations.map(key,key=='$annotation'?'':key+annotations[key]).join(''))[0]))`,
			"$max", strconv.Itoa(maxAnnotations-len(object.OriginalsAnnotation)), "$annotation", object.OriginalsAnnotation)},
		{"recordable", cel(`size(variables.moves)>0&&request.?subResource.orValue('')==''&&
			[size(bytes(variables.record))].exists(length,length<=$max&&length<=variables.room)`,
			"$max", strconv.Itoa(maxRecord))},
	}
}

// patch returns the JSON patch.
func (x *exporter) patch() string {
	return cel(`variables.moves.map(move,JSONPatch{op:'replace',path:move.path,value:move.name+move.version})+
		(variables.recordable
			?(has(object.metadata.annotations)?[]:[JSONPatch{op:'add',path:'/metadata/annotations',value:{}}])+[JSONPatch{
				op:'add',path:'/metadata/annotations/'+jsonpatch.escapeKey('$annotation'),value:variables.record}]
			:[])`, "$annotation", object.OriginalsAnnotation) + x.pullSecrets()
}

// pullSecrets returns an expression for the patches of spec.imagePullSecrets of a new Pod. It is empty if no mirror
// has a secret. An absent list is added as a whole, because an item cannot be added to an absent list. The items are
// maps, because kube-apiserver 1.36 panics if they have the type Object.spec.imagePullSecrets.
func (x *exporter) pullSecrets() string {
	var secrets []string
	for _, e := range x.mirrors.active {
		if e.pullSecret != "" {
			secrets = append(secrets, str(e.Name)+":"+str(e.pullSecret))
		}
	}
	if secrets == nil {
		return ""
	}
	return cel(`+(request.operation!='CREATE'||request.?subResource.orValue('')!=''?[]
		:[object.spec.?imagePullSecrets.orValue([]).map(secret,secret.?name.orValue(''))].map(present,
			variables.moves.map(move,{$secrets}[?move.entry].orValue('')).filter(name,!(name in ['']+present)).distinct())
			.map(lacking,has(object.spec.imagePullSecrets)||size(lacking)==0
				?lacking.map(name,JSONPatch{op:'add',path:'/spec/imagePullSecrets/-',value:{'name':name}})
				:[JSONPatch{op:'add',path:'/spec/imagePullSecrets',value:lacking.map(name,{'name':name})}])[0])`,
		"$secrets", strings.Join(secrets, ","))
}
