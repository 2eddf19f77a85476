// Package hostmem finds out how much memory a process may use: that of the machine, or less when a control group says so.
//
// Control groups form a tree and every group above a process binds it, so all limits from the process's group up to the
// root count. Version 2 keeps them in memory.max, version 1 in memory.limit_in_bytes of a tree of its own. In a container
// the tree often begins at the container's group, and the path that /proc/self/cgroup names is not there; what is at the
// root of the tree then is the container's limit.
package hostmem

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// ErrUnknown is returned where the system does not say.
var ErrUnknown = errors.New("hostmem: the amount of memory is unknown")

// A Limit is the memory that there is for a process, and who says so.
type Limit struct {
	Bytes  int64
	Source string // "machine" or "cgroup"
}

// fromProc reads the files of Linux below the root of a file system.
func fromProc(root fs.FS) (Limit, error) {
	total := memTotal(root)
	if total == 0 {
		return Limit{}, ErrUnknown
	}
	l := Limit{total, "machine"}
	if n := groupLimit(root); n > 0 && n < l.Bytes {
		l = Limit{n, "cgroup"}
	}
	return l, nil
}

func memTotal(root fs.FS) int64 {
	b, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("MemTotal:")); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// groupLimit returns the smallest limit of all control groups that this process is in, 0 when there is none.
func groupLimit(root fs.FS) (least int64) {
	b, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		// hierarchy:controllers:path; version 2 has hierarchy 0 and no controllers.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		tree, file := "", ""
		switch {
		case parts[0] == "0" && parts[1] == "":
			tree, file = "sys/fs/cgroup", "memory.max"
		case hasWord(parts[1], "memory"):
			tree, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Join("/", parts[2]); ; dir = path.Dir(dir) {
			if n := readLimit(root, path.Join(tree, dir, file)); n > 0 && (least == 0 || n < least) {
				least = n
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// readLimit reads a number of bytes; 0 when there is none. Version 1 says "no limit" by a number that no machine has.
func readLimit(root fs.FS, name string) int64 {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n >= 1<<60 {
		return 0
	}
	return n
}
