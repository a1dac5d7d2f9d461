// Package naive is a webhook with common faults, for the control runs of tests. Every fault in it has caused an
// incident. It decodes Pods into its own types and writes these types back. It rewrites every Pod that it receives,
// also in updates. It evaluates every object as if it were new, and it rejects requests above 3 MiB.
package naive

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Mirror is the mirror that images are rewritten to.
const Mirror = "mirror.corp.example/"

// limit is the size limit of an API request, which many webhooks also use for reviews.
const limit = 3 << 20

// container contains the container fields that this webhook supports.
type container struct {
	Name      string          `json:"name"`
	Image     string          `json:"image"`
	Env       json.RawMessage `json:"env,omitempty"`
	Resources json.RawMessage `json:"resources,omitempty"`
}

type object struct {
	Spec struct {
		Containers []container `json:"containers"`
		Rules      []struct {
			Host string `json:"host"`
		} `json:"rules"`
	} `json:"spec"`
}

type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID    string `json:"uid"`
	Object object `json:"object"`
}

type response struct {
	UID       string  `json:"uid"`
	Allowed   bool    `json:"allowed"`
	PatchType string  `json:"patchType,omitempty"`
	Patch     []byte  `json:"patch,omitempty"`
	Status    *status `json:"status,omitempty"`
}

type status struct {
	Message string `json:"message"`
}

// Handler serves /mutate for Pods and /validate for Ingresses, whose hosts must end with suffix.
func Handler(suffix string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mutate", func(w http.ResponseWriter, r *http.Request) { answer(w, r, rewrite) })
	mux.HandleFunc("POST /validate", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, func(o object, a *response) { validate(o, suffix, a) })
	})
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, decide func(object, *response)) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	var in review
	if err := json.Unmarshal(body, &in); err != nil || in.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	out := review{APIVersion: in.APIVersion, Kind: in.Kind, Response: &response{UID: in.Request.UID, Allowed: true}}
	decide(in.Request.Object, out.Response)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // it fails if the client has disconnected
}

// rewrite replaces the whole list of containers.
func rewrite(o object, a *response) {
	for i, c := range o.Spec.Containers {
		if !strings.HasPrefix(c.Image, Mirror) {
			o.Spec.Containers[i].Image = Mirror + c.Image
		}
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/containers", "value": o.Spec.Containers}})
	if err != nil {
		panic(err) // these types can always be marshaled
	}
	a.Patch, a.PatchType = patch, "JSONPatch"
}

// validate denies a host even if the object had it before.
func validate(o object, suffix string, a *response) {
	for _, rule := range o.Spec.Rules {
		if !strings.HasSuffix(rule.Host, suffix) {
			a.Allowed, a.Status = false, &status{Message: "host " + rule.Host + " is not allowed"}
		}
	}
}
