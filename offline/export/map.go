package export

import (
	"slices"
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
func (x *exporter) rewrites(e *policy.Entry) bool { return e.Mode == policy.Enforce && x.native(e) }

// exportMirrors exports the mirrors entries as one policy that rewrites. Its table contains all entries, because an
// entry does not rewrite an image that is at the mirror of another entry or that a weaker entry covers.
func (x *exporter) exportMirrors() {
	if !slices.ContainsFunc(x.mirrors.entries, x.rewrites) {
		return
	}
	const name = "evergate-mirrors"
	x.add(Object{
		Comment: []string{
			"mirrors: rewrites images to their mirrors, and records the original ones. Kubernetes 1.36.",
			"rewrites Pods with up to " + number(LargestPod(1)) + " images of 100 characters; the API server denies Pods " +
				"that exceed its cost budget",
		},
		Object: &admissionv1.MutatingAdmissionPolicy{
			TypeMeta: typeMeta("MutatingAdmissionPolicy"), ObjectMeta: x.meta(name),
			Spec: admissionv1.MutatingAdmissionPolicySpec{
				FailurePolicy:      new(admissionv1.Fail),
				ReinvocationPolicy: admissionv1.IfNeededReinvocationPolicy,
				MatchConstraints:   &admissionv1.MatchResources{ResourceRules: podResources()},
				MatchConditions:    append(podConditions(), x.somethingToMove()),
				Variables:          variablesOf(x.mapVariables()),
				Mutations: []admissionv1.Mutation{{
					PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: x.patch()},
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
// them for no reason. It contains its own map, because conditions are evaluated before variables.
func (x *exporter) somethingToMove() admissionv1.MatchCondition {
	var lists []string
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		lists = append(lists, "object.spec.?"+list+".orValue([]).all(c,has(c.image)&&["+
			"c.image.split('/')].all(s,lists.range(size(s)-1).exists(k,s.slice(0,k+1).join('/') in m)))")
	}
	lists = append(lists, "object.spec.?volumes.orValue([]).all(v,!has(v.image))")
	return admissionv1.MatchCondition{
		Name: "something-to-move", Expression: "![" + set(x.mirrors.ends) + "].all(m," + strings.Join(lists, "&&") + ")",
	}
}

// mapVariables returns the variables of the policy that rewrites.
func (x *exporter) mapVariables() []variable {
	vars := []variable{
		{"images", podImages(now, true)},
		// CEL evaluates a variable only when it is used. This variable is used only on an update, because a creation
		// does not have an old object.
		{"kept_images", "(" + podImages(before, true) + ").map(x,x.key+' '+x.ref)"},
		// An image that kubelet never pulls keeps its name, and so does the placeholder that Istio's injector replaces.
		{"references", references("variables.images.filter(x,x.never==''&&!(x.ref=='auto'&&"+
			"(x.key.endsWith('/istio-proxy')||'inject.istio.io/templates' in object.metadata.?annotations.orValue({})))&&"+
			"(oldObject==null||!((x.key+' '+x.ref) in variables.kept_images)))", "path", "ref", "key")},
	}
	vars = append(vars, x.mirrors.variables(now, x.rewrites)...)
	moves := x.mirrors.moved("variables.references", now, x.rewrites, "path", "ref", "key")
	if denied := x.deniedOriginals(); len(denied) > 0 {
		var paths []string
		for _, v := range denied {
			if strings.HasPrefix(v.name, "denied_") && !strings.HasSuffix(v.name, before.suffix()) {
				paths = append(paths, "variables."+v.name+".map(y,y.path)")
			}
		}
		vars = append(append(vars, denied...), variable{"denied", sum(paths...)})
		moves = "(" + moves + ").filter(x,!(x.path in variables.denied))"
	}
	vars = append(vars, variable{"moves", moves})
	return append(vars, x.record()...)
}

// deniedOriginals returns variables with the faults of enforced rules that deny original images. These images are not
// rewritten, so the rules deny them.
func (x *exporter) deniedOriginals() []variable {
	var vars []variable
	k := x.pods()
	for i := range x.entries {
		e := &x.entries[i]
		if e.Block != "pods" || e.Mode != policy.Enforce {
			continue
		}
		for _, c := range k.checks(e) {
			if c.id != "images.denied" && c.id != "images.deniedTags" {
				continue
			}
			if len(vars) == 0 {
				vars = []variable{
					{"images_before", podImages(before, false)},
					{"references_before", references("variables.images_before", "path", "ref")},
				}
			}
			name := "denied_" + number(i) + "_" + strings.TrimPrefix(c.id, "images.")
			old := "oldObject==null?[]:" + bind("o", k.faults(e, c, before), "o.map(y,y.id)")
			vars = append(vars, variable{name + before.suffix(), old},
				variable{name, "(" + k.faults(e, c, now) + ").filter(y,!(y.id in variables." + name + before.suffix() + "))"})
		}
	}
	return vars
}

// annotation is an expression for the annotation with the record.
const annotation = "object.metadata.?annotations[?'" + object.OriginalsAnnotation + "'].orValue('')"

// record returns the variables of the record of original images. It contains the images that are rewritten now, and
// the entries of the existing record that can be verified. An entry is verified if its image would be rewritten to
// the current image.
func (x *exporter) record() []variable {
	const member = `"[^"\\]*"\s*:\s*"[^"\\]*"`
	pairs := bind("t", annotation, "size(t)<="+number(maxRecord)+"&&t.matches("+
		str(`^\s*\{\s*`+member+`\s*(?:,\s*`+member+`\s*)*\}\s*$`)+")?t.findAll("+str(member)+"):[]")
	earlier := pairs + ".map(p,p.findAll('\"[^\"]*\"'))" +
		".map(p,{'key':p[0].substring(1,size(p[0])-1),'ref':p[1].substring(1,size(p[1])-1)})"
	lookup := "size(variables.earlier)==0?[]:variables.images.filter(i,!variables.moves.exists(m,m.path==i.path))" +
		".map(i,variables.earlier.filter(e,e.key==i.key).map(e,{'path':i.ref,'key':i.key,'ref':e.ref})).filter(l,size(l)>0)" +
		".map(l,l[size(l)-1])"
	kept := x.mirrors.moved("("+references("variables.recorded", "path", "ref", "key")+")", now, x.rewrites, "path", "ref",
		"key") + ".filter(x,x.to==x.path)"
	text := "'{'+(variables.moves.map(x,'\"'+x.key+'\":\"'+x.ref+'\"')" +
		"+variables.kept.map(x,'\"'+x.key+'\":\"'+x.ref+'\"'))" +
		".sort().join(',')+'}'"
	room := number(maxAnnotations-len(object.OriginalsAnnotation)) + "-size(bytes(" +
		bind("a", "object.metadata.?annotations.orValue({})",
			"a.map(k,k=='"+object.OriginalsAnnotation+"'?'':k+a[k]).join('')") + "))"
	return []variable{
		{"earlier", earlier}, {"recorded", lookup}, {"kept", kept}, {"record", text}, {"room", room},
		{"recordable", "size(variables.moves)>0&&request.?subResource.orValue('')==''&&" +
			bind("n", "size(bytes(variables.record))", "n<="+number(maxRecord)+"&&n<=variables.room")},
	}
}

// patch returns the JSON patch.
func (x *exporter) patch() string {
	images := "variables.moves.map(x,JSONPatch{op:'replace',path:x.path,value:x.to})"
	record := "(variables.recordable?(has(object.metadata.annotations)?[]:" +
		"[JSONPatch{op:'add',path:'/metadata/annotations',value:{}}])+[JSONPatch{op:'add',path:'/metadata/annotations/'+" +
		"jsonpatch.escapeKey('" + object.OriginalsAnnotation + "'),value:variables.record}]:[])"
	return images + "+" + record + x.pullSecrets()
}

// pullSecrets returns an expression for the patches of spec.imagePullSecrets of a new Pod. It is empty if no mirror
// has a secret.
func (x *exporter) pullSecrets() string {
	if !slices.ContainsFunc(x.mirrors.entries, func(e *policy.Entry) bool { return e.Fields["imagePullSecret"] != nil }) {
		return ""
	}
	there := "object.spec.?imagePullSecrets.orValue([]).map(s,string(s.?name.orValue('')))"
	lacking := "variables.moves.map(x,variables.mirrors[x.entry][2]).filter(s,s!='').distinct()"
	// An absent list is added as a whole, because an item cannot be added to an absent list. The items are maps,
	// because kube-apiserver 1.36 panics if they have the type Object.spec.imagePullSecrets.
	const name = "{'name':s}"
	added := choose("has(object.spec.imagePullSecrets)||size(q)==0",
		"q.map(s,JSONPatch{op:'add',path:'/spec/imagePullSecrets/-',value:"+name+"})",
		"[JSONPatch{op:'add',path:'/spec/imagePullSecrets',value:q.map(s,"+name+")}]")
	return "+" + choose("request.operation=='CREATE'&&request.?subResource.orValue('')==''",
		bind("t", there, bind("q", lacking+".filter(s,!(s in t))", added)), "[]")
}
