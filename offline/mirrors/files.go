package mirrors

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
)

// maxFile is the maximum size of a file with a table, in bytes. The tables of large clusters have some hundred rows.
const maxFile = 4 << 20

// Open reads files, standard input, and the files with tables in directories: a folder certs.d of containerd has a
// folder with hosts.toml for each registry, and registries.conf.d has files.
func Open(paths []string, stdin io.Reader) (files []File, err error) {
	for _, name := range paths {
		info, err := os.Stat(name)
		switch {
		case name == offline.Stdin:
			data, err := io.ReadAll(io.LimitReader(stdin, maxFile))
			if err != nil {
				return nil, fmt.Errorf("read the table from stdin: %w", err)
			}
			files = append(files, File{"stdin", data})
		case err == nil && info.IsDir():
			more, err := openDir(name)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		default:
			data, err := input.Read(name, maxFile)
			if err != nil {
				return nil, fmt.Errorf("read the table: %w", err)
			}
			files = append(files, File{name, data})
		}
	}
	return files, nil
}

// openDir reads the files with tables in a directory.
func openDir(dir string) (files []File, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the directory: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	for _, pattern := range []string{"*.conf", "*.toml", "*.yaml", "*.yml", "*.json", "*/hosts.toml"} {
		names, err := fs.Glob(root.FS(), pattern)
		if err != nil {
			return nil, fmt.Errorf("read the directory: %w", err)
		}
		for _, name := range names {
			data, err := input.ReadIn(root, name, maxFile)
			if err != nil {
				return nil, fmt.Errorf("read the directory %s: %w", text.Path(dir), err)
			}
			files = append(files, File{path.Join(dir, name), data})
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no table of mirrors: use a folder with hosts.toml or *.conf files", text.Path(dir))
	}
	return files, nil
}
