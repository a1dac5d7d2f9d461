package plan

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// Request is the request in an audit event that sent an object.
type Request struct {
	Verb   string `json:"verb"` // create, update or patch
	User   string `json:"user"`
	Code   int    `json:"code,omitempty"` // status code of the response
	Failed bool   `json:"failed,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// The verbs that send an object.
const (
	verbCreate = "create"
	verbUpdate = "update"
	verbPatch  = "patch" // also server-side apply
)

// event contains the fields of an audit.k8s.io Event that identify the object of a request and its user.
type event struct {
	Level        string `json:"level"`
	Stage        string `json:"stage"`
	RequestURI   string `json:"requestURI"`
	Verb         string `json:"verb"`
	User         sender `json:"user"`
	Impersonated sender `json:"impersonatedUser"`
	Reference    struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject  jsontext.Value `json:"requestObject"`
	ResponseObject jsontext.Value `json:"responseObject"`
}

// sender is the user that sends a request.
type sender struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

// resource is a resource in any version.
type resource struct{ group, name string }

// resourcesOf returns the resources that at least one of the policies validates.
func resourcesOf(policies ...*policy.Policy) map[resource]bool {
	validated := map[resource]bool{}
	for _, p := range policies {
		for _, k := range admission.KindsIn(p) {
			validated[resource{k.Resource.Group, k.Resource.Name}] = true
		}
	}
	return validated
}

// isEvent reports whether an object is an event of an audit log, and not a v1 Event of a cluster.
func isEvent(o offline.Object) bool {
	return o.Kind == "Event" && strings.HasPrefix(o.APIVersion, "audit.k8s.io/")
}

// lowestFailure is the lowest status code of a failed request.
const lowestFailure = 400

// stageComplete is the stage of an event after the request has been answered.
const stageComplete = "ResponseComplete"

// event compares the decisions about the object in a request of an audit log.
func (p *Plan) event(object offline.Object) error {
	if !isEvent(object) {
		return object.Errorf("%s is not an event of an audit log: leave out --audit", object)
	}
	var e event
	if err := object.Unmarshal(&e); err != nil {
		return err
	}
	as := e.User
	if e.Impersonated.Username != "" {
		as = e.Impersonated // admission sees the impersonated user
	}
	value, why := p.objectOf(&e)
	if why == "" && (as.Username == "system:apiserver" || slices.Contains(as.Groups, "system:nodes")) {
		why = "the webhooks do not match requests of nodes and of the API server"
	}
	if why != "" {
		object.Kind, object.APIVersion = e.Reference.Resource, e.Reference.Group+"/"
		object.Namespace, object.Name = e.Reference.Namespace, e.Reference.Name
		p.skip(object, why)
		return nil
	}
	sent, err := offline.ParseJSON(object.Origin, value)
	if err != nil {
		return err
	}
	if sent.Namespace == "" {
		sent.Namespace = e.Reference.Namespace
	}
	if sent.Name == "" {
		sent.Name = e.Reference.Name
	}
	for _, j := range []*offline.Decider{p.old, p.new} {
		j.User, j.Groups = as.Username, as.Groups
	}
	return p.compare(sent, e.request(as))
}

// objectOf returns the object in a request, or the reason to skip it.
func (p *Plan) objectOf(e *event) (value jsontext.Value, why string) {
	switch {
	case e.Stage != stageComplete:
		return nil, "the event has another stage than " + stageComplete
	case e.Verb != verbCreate && e.Verb != verbUpdate && e.Verb != verbPatch:
		return nil, "the request does not write an object"
	case !p.validated[resource{e.Reference.Group, e.Reference.Resource}]:
		return nil, "not validated"
	case e.Reference.Subresource != "":
		return nil, "the request writes a subresource, and the log does not contain the old object"
	case e.Verb == verbPatch && e.failed():
		return nil, "the patch failed, so the log does not contain the patched object"
	case e.Verb == verbPatch && !isObject(e.ResponseObject):
		return nil, "the log does not contain the patched object: its level must be RequestResponse"
	case e.Verb == verbPatch:
		return e.ResponseObject, ""
	case !isObject(e.RequestObject):
		return nil, "the log does not contain the object: its level must be Request or above"
	}
	return e.RequestObject, ""
}

func isObject(value jsontext.Value) bool { return value.Kind() == '{' }

// failed reports whether the request failed and therefore did not change anything, for example because of RBAC, a
// webhook or a conflict.
func (e *event) failed() bool { return e.ResponseStatus.Code >= lowestFailure }

// request returns the details of the request for a report.
func (e *event) request(as sender) *Request {
	r := &Request{
		Verb: e.Verb, User: text.Truncate(as.Username, admission.MaxName), Code: e.ResponseStatus.Code, Failed: e.failed(),
	}
	if strings.Contains(e.RequestURI, "dryRun") {
		uri, err := url.Parse(e.RequestURI)
		r.DryRun = err == nil && uri.Query().Get("dryRun") != ""
	}
	return r
}
