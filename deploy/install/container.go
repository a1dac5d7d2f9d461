package install

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/policy"
)

// VolumeAt returns the volume that contains a path of the container, and its mount. Both are nil if no volume does.
func (s *Server) VolumeAt(file string) (*corev1.Volume, *corev1.VolumeMount) {
	var mount *corev1.VolumeMount
	for i := range s.Container.VolumeMounts {
		m := &s.Container.VolumeMounts[i]
		inside := strings.HasPrefix(file+"/", strings.TrimSuffix(m.MountPath, "/")+"/")
		if inside && (mount == nil || len(m.MountPath) > len(mount.MountPath)) {
			mount = m
		}
	}
	if mount == nil {
		return nil, nil
	}
	i := slices.IndexFunc(s.Pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if i < 0 {
		return nil, mount
	}
	return &s.Pod.Volumes[i], mount
}

// inVolume returns the path of a file in the volume of its mount. It is "" for the root of the volume.
func inVolume(file string, mount *corev1.VolumeMount) string {
	below := strings.TrimPrefix(file, strings.TrimSuffix(mount.MountPath, "/"))
	return strings.TrimPrefix(path.Join(mount.SubPath, below), "/")
}

// sources returns the sources of a volume, which may be nil: of a projected volume, or the Secret or ConfigMap as one.
func sources(v *corev1.Volume) []corev1.VolumeProjection {
	switch v = cmp.Or(v, &corev1.Volume{}); {
	case v.Secret != nil:
		return []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: v.Secret.SecretName}, Items: v.Secret.Items,
		}}}
	case v.ConfigMap != nil:
		return []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: v.ConfigMap.LocalObjectReference, Items: v.ConfigMap.Items,
		}}}
	case v.Projected != nil:
		return v.Projected.Sources
	}
	return nil
}

// SecretFile returns the Secret whose volume contains a path of the container, and the key of the file. Both may be "".
func (s *Server) SecretFile(file string) (secret, key string) {
	v, mount := s.VolumeAt(file)
	for _, source := range sources(v) {
		if source.Secret == nil {
			continue
		}
		at := inVolume(file, mount)
		for _, item := range source.Secret.Items {
			if item.Path == at {
				return source.Secret.Name, item.Key
			}
		}
		if len(source.Secret.Items) > 0 {
			at = ""
		}
		return source.Secret.Name, at
	}
	return "", ""
}

// TLSSecret returns the name of the Secret that contains --tls-cert, or "" if no Secret does.
func (s *Server) TLSSecret() string {
	secret, _ := s.SecretFile(s.Settings.TLSCert)
	return secret
}

// PolicyMaps lists the ConfigMaps in the volume that contains --policy. only is true if the volume contains nothing
// else.
func (s *Server) PolicyMaps() (mounted []corev1.ConfigMapProjection, only bool) {
	v, _ := s.VolumeAt(s.Settings.Policy)
	all := sources(v)
	for _, source := range all {
		if source.ConfigMap != nil {
			mounted = append(mounted, *source.ConfigMap)
		}
	}
	return mounted, len(mounted) > 0 && len(mounted) == len(all)
}

// PolicyPath returns the path of --policy in its volume. It is "" for the root of the volume.
func (s *Server) PolicyPath() string {
	_, mount := s.VolumeAt(s.Settings.Policy)
	if mount == nil {
		return ""
	}
	return inVolume(s.Settings.Policy, mount)
}

// policyFiles returns the policy files that a server loads from the ConfigMaps of --policy.
func (o *Objects) policyFiles(s *Server) []policy.File {
	var files []policy.File
	mounts, _ := s.PolicyMaps()
	for _, mounted := range mounts {
		if cm := Find[*corev1.ConfigMap](o, s.Namespace, mounted.Name); cm != nil {
			files = append(files, VolumeFiles(cm, mounted.Items)...)
		}
	}
	return Loaded(s.PolicyPath(), files)
}

// Loaded returns the files that evergate serve loads if --policy is a path in a volume with these files. If the path is
// a directory, these are the policy files directly in it, except files whose names begin with a dot. The names of the
// returned files do not include the directory.
func Loaded(at string, files []policy.File) []policy.File {
	var loaded []policy.File
	for _, f := range files {
		dir, name := path.Split(f.Name)
		inDir := strings.TrimSuffix(dir, "/") == at && policy.IsFile(name) && !strings.HasPrefix(name, ".")
		if inDir || f.Name == at {
			loaded = append(loaded, policy.File{Name: name, Data: f.Data})
		}
	}
	return loaded
}

// VolumeFiles returns the files in a volume with a ConfigMap. The name of a file is its path in the volume. A volume
// with items contains only these keys, each under its path.
func VolumeFiles(cm *corev1.ConfigMap, items []corev1.KeyToPath) []policy.File {
	if len(items) == 0 {
		keys := slices.AppendSeq(slices.Collect(maps.Keys(cm.Data)), maps.Keys(cm.BinaryData))
		slices.Sort(keys)
		for _, key := range keys {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	var files []policy.File
	for _, item := range items {
		data, ok := cm.BinaryData[item.Key]
		if text, isText := cm.Data[item.Key]; isText {
			data, ok = []byte(text), true
		}
		if ok {
			files = append(files, policy.File{Name: path.Clean(item.Path), Data: data})
		}
	}
	return files
}

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

// take sets a variable from its source. Like the kubelet, it leaves the variable as it is if its key is optional and
// does not exist.
func (env *environment) take(o *Objects, namespace string, v corev1.EnvVar) {
	value := settings.Unknown
	if field := v.ValueFrom.FieldRef; field != nil && field.FieldPath == "metadata.namespace" {
		value = namespace
	}
	if key := v.ValueFrom.ConfigMapKeyRef; key != nil {
		if cm := Find[*corev1.ConfigMap](o, namespace, key.Name); cm != nil {
			var ok bool
			if value, ok = cm.Data[key.Key]; !ok {
				if key.Optional == nil || !*key.Optional {
					env.problems = append(env.problems, fmt.Sprintf("its variable %s is the key %s of the ConfigMap %s, which "+
						"does not have this key", v.Name, key.Key, key.Name))
				}
				return
			}
		}
	}
	env.vars[v.Name] = value
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
