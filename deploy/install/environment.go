package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/lifecycle/settings"
)

// environment has the variables that the kubelet sets in a container. A value that the input does not have is
// settings.Unknown.
type environment struct {
	vars     settings.Environment
	hidden   []string // prefixes of variables that may be set
	links    bool     // variables for the Services of the namespace are set
	problems []string // for which the kubelet does not start the container
}

// newEnvironment returns the environment of a container in a namespace.
func newEnvironment(o *Objects, namespace string, pod *corev1.PodSpec, c *corev1.Container) *environment {
	env := &environment{vars: settings.Environment{}, links: pod.EnableServiceLinks == nil || *pod.EnableServiceLinks}
	for _, source := range c.EnvFrom {
		var cm *corev1.ConfigMap // nil for a Secret, whose values are not read
		if source.ConfigMapRef != nil {
			cm = Find[*corev1.ConfigMap](o, namespace, source.ConfigMapRef.Name)
		}
		if cm == nil { // any variable with the prefix may be set, to a value that is not known
			env.hidden = append(env.hidden, source.Prefix)
			maps.DeleteFunc(env.vars, func(name, _ string) bool { return strings.HasPrefix(name, source.Prefix) })
			continue
		}
		for key, value := range cm.Data {
			env.vars[source.Prefix+key] = value
		}
	}
	for _, v := range c.Env {
		switch {
		case v.Value != "" || v.ValueFrom == nil:
			env.vars[v.Name] = env.expand(v.Value)
		default:
			env.take(o, namespace, v)
		}
	}
	return env
}

// take sets a variable from its source.
func (env *environment) take(o *Objects, namespace string, v corev1.EnvVar) {
	env.vars[v.Name] = settings.Unknown
	if field := v.ValueFrom.FieldRef; field != nil && field.FieldPath == "metadata.namespace" {
		env.vars[v.Name] = namespace
	}
	key := v.ValueFrom.ConfigMapKeyRef
	if key == nil {
		return
	}
	cm := Find[*corev1.ConfigMap](o, namespace, key.Name)
	if cm == nil {
		return
	}
	value, ok := cm.Data[key.Key]
	switch {
	case ok:
		env.vars[v.Name] = value
	case key.Optional != nil && *key.Optional:
		delete(env.vars, v.Name)
	default:
		env.problems = append(env.problems, fmt.Sprintf("its variable %s is the key %s of the ConfigMap %s, which does "+
			"not have this key", Printable(v.Name), Printable(key.Key), key.Name))
	}
}

// expand replaces references to variables, $(NAME), as the kubelet does. A reference to a variable that is not set
// stays unchanged, and $$ becomes a dollar sign.
func (env *environment) expand(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "$")
		b.WriteString(before)
		switch name, after, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")"); {
		case !ok:
			return b.String()
		case strings.HasPrefix(rest, "$"):
			b.WriteString("$")
			s = rest[1:]
		case strings.HasPrefix(rest, "(") && closed:
			b.WriteString(env.value(name, "$("+name+")"))
			s = after
		default:
			b.WriteString("$")
			s = rest
		}
	}
}

// value returns the value of a variable, or absent if it is not set.
func (env *environment) value(name, absent string) string {
	if value, ok := env.vars[name]; ok {
		return value
	}
	hidden := slices.ContainsFunc(env.hidden, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	// The kubelet sets variables for Services: REDIS_SERVICE_HOST, REDIS_PORT_6379_TCP_ADDR.
	ofService := strings.Contains(name, "_SERVICE_HOST") || strings.Contains(name, "_PORT")
	if hidden || ofService && (env.links || strings.HasPrefix(name, "KUBERNETES_")) {
		return settings.Unknown
	}
	return absent
}

// parse returns the settings of evergate serve in a container, and the errors with which evergate serve rejects them.
func (env *environment) parse(c *corev1.Container) (*settings.Parsed, []error) {
	var args []string
	for _, word := range serveArgs(c) {
		args = append(args, env.expand(word))
	}
	return settings.Container{Args: args, Env: env.vars, Hidden: env.hidden}.Parse()
}
