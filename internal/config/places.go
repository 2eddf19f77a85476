package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// checkPlaces looks at what the settings name in the file system.
func (c *Config) checkPlaces(faults *Problems) {
	if path, socket := strings.CutPrefix(c.Listen, SocketPrefix); socket {
		if err := checkSocket(path); err != nil {
			faults.add(c.Source("listen"), "%v", err)
		}
	}
	if c.Dir != "" {
		if err := checkDir(c.Dir); err != nil {
			faults.add(c.Source("dir"), "%v", err)
		}
	}
}

// maxSocketPath is the longest path in bytes that the system takes for a socket, without the zero at its end.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// checkSocket returns an error unless a socket can be made at path or is there. Whether a server listens on one that is
// there shows only when it is taken.
func checkSocket(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("a socket's path has at most %d bytes, not %d", maxSocketPath, len(path))
	}
	folder := filepath.Dir(path)
	switch info, err := os.Stat(folder); {
	case err != nil:
		return reason(folder, err)
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory", folder)
	}
	info, err := os.Lstat(path) // bind does not follow links
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return reason(path, err)
	}
	switch kind := info.Mode().Type(); kind {
	case fs.ModeSocket:
		return nil
	case 0:
		return fmt.Errorf("%s is a regular file, not a socket", path)
	case fs.ModeDir:
		return fmt.Errorf("%s is a directory, not a socket", path)
	case fs.ModeSymlink:
		return fmt.Errorf("%s is a symbolic link, not a socket", path)
	}
	return fmt.Errorf("%s is a special file, not a socket", path)
}

// checkDir returns an error unless path is a directory in which files can be listed and made.
func checkDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return reason(path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a directory", path)
	}
	if _, err := os.ReadDir(path); err != nil {
		return reason(path, err)
	}
	// Only making a file tells: permission bits say nothing on a read-only or special file system.
	probe, err := os.CreateTemp(path, ".larder-probe-*")
	if err != nil {
		return fmt.Errorf("not writable: %w", reason(path, err))
	}
	name := probe.Name()
	if err := errors.Join(probe.Close(), os.Remove(name)); err != nil {
		return fmt.Errorf("not writable: %w", reason(path, err))
	}
	return nil
}

// reason drops the name of the system call and of a temporary file from an error about path.
func reason(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", path, p.Err)
	}
	return err
}
