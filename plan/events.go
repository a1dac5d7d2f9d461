package plan

import (
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// Request is the request of an event that sent an object.
type Request struct {
	Verb    string `json:"verb"` // create, update or patch
	User    string `json:"user"`
	Code    int    `json:"code,omitempty"` // of the answer
	Refused bool   `json:"refused,omitempty"`
	DryRun  bool   `json:"dryRun,omitempty"`
}

// The verbs that send an object.
const (
	verbCreate = "create"
	verbUpdate = "update"
	verbPatch  = "patch" // server-side apply too
)

// event is the part of an audit.k8s.io Event that says which object a request has sent, and as whom.
type event struct {
	Level        string `json:"level"`
	Stage        string `json:"stage"`
	RequestURI   string `json:"requestURI"`
	Verb         string `json:"verb"`
	User         sender `json:"user"`
	Impersonated sender `json:"impersonatedUser"`
	ObjectRef    struct {
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

// resource is a resource of any version.
type resource struct{ group, name string }

// resourcesOf returns the resources that are judged by one of the policies.
func resourcesOf(policies ...*policy.Policy) map[resource]bool {
	judged := map[resource]bool{}
	for _, p := range policies {
		for _, k := range admission.KindsIn(p) {
			judged[resource{k.Resource.Group, k.Resource.Name}] = true
		}
	}
	return judged
}

// isEvent reports whether an object is an event of an audit log, and not the v1 Event of a cluster.
func isEvent(o offline.Object) bool {
	return o.Kind == "Event" && strings.HasPrefix(o.APIVersion, "audit.k8s.io/")
}

// failed is the lowest status of an answer that a request failed.
const failed = 400

// The stage of an event at which a request has been answered.
const stageComplete = "ResponseComplete"

// Why the object of an event is not judged.
const (
	whyStage       = "an event of another stage than " + stageComplete
	whyVerb        = "the request writes no object"
	whyResource    = "not judged"
	whySubresource = "a subresource, which only updates an object that the log does not have as it was"
	whyNoObject    = "the log does not have the object: its level must be Request or above"
	whyPatch       = "a patch, of which the log does not have the object: its level must be RequestResponse"
	whyFailedPatch = "a patch that was refused, of which there is no object"
)

// event compares the decisions about the object that a request of an audit log has sent.
func (p *Plan) event(object offline.Object) error {
	if !isEvent(object) {
		return object.Errorf("%s is no event of an audit log: leave out --audit", object)
	}
	var e event
	if err := object.Unmarshal(&e); err != nil {
		return err
	}
	value, why := p.objectOf(&e)
	if why != "" {
		object.Kind, object.APIVersion = e.ObjectRef.Resource, e.ObjectRef.Group+"/"
		object.Namespace, object.Name = e.ObjectRef.Namespace, e.ObjectRef.Name
		p.skip(object, why)
		return nil
	}
	sent, err := offline.ParseJSON(object.Origin, value)
	if err != nil {
		return err
	}
	if sent.Namespace == "" {
		sent.Namespace = e.ObjectRef.Namespace
	}
	if sent.Name == "" {
		sent.Name = e.ObjectRef.Name
	}
	as := e.User
	if e.Impersonated.Username != "" {
		as = e.Impersonated // as whom admission sees the request
	}
	for _, j := range []*offline.Judge{p.old, p.new} {
		j.User, j.Groups = as.Username, as.Groups
	}
	return p.compare(sent, e.request(as))
}

// objectOf returns the object that a request has sent, or why there is none to judge.
func (p *Plan) objectOf(e *event) (value jsontext.Value, why string) {
	switch {
	case e.Stage != stageComplete:
		return nil, whyStage
	case e.Verb != verbCreate && e.Verb != verbUpdate && e.Verb != verbPatch:
		return nil, whyVerb
	case !p.judged[resource{e.ObjectRef.Group, e.ObjectRef.Resource}]:
		return nil, whyResource
	case e.ObjectRef.Subresource != "":
		return nil, whySubresource
	case e.Verb == verbPatch && e.refused():
		return nil, whyFailedPatch
	case e.Verb == verbPatch && !isObject(e.ResponseObject):
		return nil, whyPatch
	case e.Verb == verbPatch:
		return e.ResponseObject, ""
	case !isObject(e.RequestObject):
		return nil, whyNoObject
	}
	return e.RequestObject, ""
}

func isObject(value jsontext.Value) bool { return value.Kind() == '{' }

// refused reports whether the request changed nothing: by RBAC, a webhook, a conflict or what else there is.
func (e *event) refused() bool { return e.ResponseStatus.Code >= failed }

// request returns what a report says of the request.
func (e *event) request(as sender) *Request {
	r := &Request{
		Verb: e.Verb, User: text.Truncate(as.Username, admission.MaxName), Code: e.ResponseStatus.Code, Refused: e.refused(),
	}
	if strings.Contains(e.RequestURI, "dryRun") {
		uri, err := url.Parse(e.RequestURI)
		r.DryRun = err == nil && uri.Query().Get("dryRun") != ""
	}
	return r
}
