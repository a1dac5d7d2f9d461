package offline

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
)

// SkippedError reports that a file, or some documents in it, were skipped. Most repositories contain more than
// manifests.
type SkippedError struct {
	File string // or directory, or file: 1 of 2 documents
	Why  string
}

func (e *SkippedError) Error() string { return e.File + ": skipped: " + e.Why }

// The reasons to skip a file.
const (
	whyIgnored  = "ignored"
	whyHidden   = "hidden"
	whyLink     = "links to directories, which are not followed"
	whyOther    = "not *.yaml, *.yml or *.json"
	whyEmpty    = "empty"
	whyForeign  = "not manifests: they do not have a metadata mapping, or a kind such as Pod"
	whyChart    = "parts of Helm charts"
	whyTemplate = "templates: render them first, for example with helm template"
	whyPatch    = "patches and data of kustomizations: review the output of kubectl kustomize"
)

// found is a file in a directory, or a directory that is skipped as a whole.
type found struct {
	name string // relative to the directory; the name of a directory ends in a slash
	why  string // the reason to skip it because of its path; empty if it is read
	err  error  // the reason why it cannot be read
}

// isManifest reports whether a file in a directory has a name that is read. A file that is given by its path may have
// any name.
func (f *found) isManifest() bool {
	extension := strings.ToLower(path.Ext(f.name))
	return slices.Contains([]string{".yaml", ".yml", ".json"}, extension) || isKustomization(f.name)
}

// list lists the files and links below dir, sorted by name, and each directory that is skipped or cannot be read.
func list(dir *os.Root, ignore *Ignore) []found {
	var files []found
	patterns := ignores{ignore, map[string]*Ignore{}}
	repo := newRepository(dir)
	_ = fs.WalkDir(dir.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		f := found{name: name, err: err}
		switch {
		case err != nil:
		case entry.Name() == IgnoreFile:
			return nil
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			f.why = whyHidden
		case name != "." && patterns.ignored(name, entry.IsDir()):
			f.why = whyIgnored
		case entry.IsDir():
			if f.err = patterns.enter(dir, name); f.err == nil {
				return nil
			}
		default:
			f.inspect(dir, entry)
			repo.add(name)
		}
		skip := error(nil)
		if entry.IsDir() {
			f.name, skip = f.name+"/", fs.SkipDir
		}
		files = append(files, f)
		return skip
	})
	for i := range files {
		if f := &files[i]; f.why == "" && f.err == nil {
			f.why = repo.why(f.name)
		}
	}
	return files
}

// inspect sets why or err of a file or a link that is not read.
func (f *found) inspect(dir *os.Root, entry fs.DirEntry) {
	toDir := false
	if entry.Type()&fs.ModeSymlink != 0 {
		toDir, f.err = input.Link(dir, f.name)
	}
	switch {
	case toDir:
		f.why = whyLink
	case f.err == nil && !f.isManifest():
		f.why = whyOther
	}
}

// found reads a file of a directory.
func (in reader) found(dir *os.Root, f *found, yield yieldFunc) bool {
	name := text.Path(filepath.Join(dir.Name(), filepath.FromSlash(f.name)))
	if strings.HasSuffix(f.name, "/") {
		name += "/"
	}
	if f.why != "" {
		return yield(Object{}, &SkippedError{name, f.why})
	}
	var file *os.File
	err := f.err
	if err == nil {
		file, err = input.OpenIn(dir, f.name)
	}
	return in.file(name, file, err, yield)
}

// repository classifies the files of a directory by their names and by the kustomizations next to them.
type repository struct {
	root   *os.Root
	charts map[string]bool // directories with a Chart.yaml
	parts  map[string]bool // files that kustomizations refer to and that are not resources

	templates bool // the root is the templates directory of a chart
}

func newRepository(root *os.Root) *repository {
	r := &repository{root: root, charts: map[string]bool{}, parts: map[string]bool{}}
	if filepath.Base(root.Name()) == "templates" {
		_, err := os.Stat(filepath.Join(root.Name(), "..", "Chart.yaml"))
		r.templates = err == nil
	}
	return r
}

// add records a file if it describes other files. The name is relative to the root.
func (r *repository) add(name string) {
	if path.Base(name) == "Chart.yaml" {
		r.charts[path.Dir(name)] = true
	}
	if isKustomization(name) {
		r.addKustomization(name)
	}
}

// maxKustomization limits a kustomization that is read, in bytes. It is far more than people write.
const maxKustomization = 1 << 20

// addKustomization records the files that a kustomization refers to, for example as patches, and that are not in one
// of its lists of whole objects. It ignores a kustomization that cannot be read, because kustomize reports the problem.
func (r *repository) addKustomization(name string) {
	data, err := input.ReadIn(r.root, name, maxKustomization)
	var fields map[string]any
	if err != nil || yaml.Unmarshal(data, &fields) != nil {
		return
	}
	objects, parts := map[string]bool{}, map[string]bool{}
	for field, value := range fields {
		to := parts
		switch field {
		case "resources", "bases", "components", "crds", "generators", "transformers", "validators":
			to = objects
		}
		addFiles(to, path.Dir(name), value)
	}
	for file := range parts {
		r.parts[file] = r.parts[file] || !objects[file]
	}
}

// addFiles adds each string in a value as the path of a file.
func addFiles(to map[string]bool, dir string, value any) {
	switch v := value.(type) {
	case string: // FILE, or KEY=FILE in a generator
		to[path.Join(dir, v[strings.IndexByte(v, '=')+1:])] = true
	case []any:
		for _, element := range v {
			addFiles(to, dir, element)
		}
	case map[string]any:
		for _, element := range v {
			addFiles(to, dir, element)
		}
	}
}

// why returns the reason to skip a file, or an empty string if it is read.
func (r *repository) why(name string) string {
	chart := path.Dir(name)
	for !r.charts[chart] && chart != "." {
		chart = path.Dir(chart)
	}
	switch {
	case r.parts[name]:
		return whyPatch
	case r.templates, r.charts[chart] && strings.HasPrefix(strings.TrimPrefix(name, chart+"/"), "templates/"):
		return whyTemplate
	case r.templates, r.charts[chart] && strings.Contains(path.Base(name), "values"): // values can have a metadata mapping
		return whyChart
	}
	return ""
}
