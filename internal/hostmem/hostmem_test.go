package hostmem

import (
	"errors"
	"runtime"
	"testing"
	"testing/fstest"
)

func TestTheSmallestLimitCounts(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	const meminfo = "MemTotal:       16000000 kB\nMemFree:        1000 kB\n"
	const machine = int64(16_000_000 << 10)
	for name, c := range map[string]struct {
		files map[string]string
		want  Limit
	}{
		"no groups": {nil, Limit{machine, "machine"}},
		"version 2": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/larder.service\n",
			"sys/fs/cgroup/system.slice/larder.service/memory.max": "1073741824\n",
			"sys/fs/cgroup/system.slice/memory.max":                "max\n",
		}, Limit{1 << 30, "cgroup"}},
		"version 2, a group above binds more": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/larder.service\n",
			"sys/fs/cgroup/system.slice/larder.service/memory.max": "1073741824\n",
			"sys/fs/cgroup/system.slice/memory.max":                "536870912\n",
		}, Limit{1 << 29, "cgroup"}},
		"version 2, the container's group is the root": {map[string]string{
			"proc/self/cgroup":         "0::/docker/0123\n",
			"sys/fs/cgroup/memory.max": "2147483648\n",
		}, Limit{2 << 30, "cgroup"}},
		"version 2, more than the machine has": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "99999999999999\n",
		}, Limit{machine, "machine"}},
		"version 1": {map[string]string{
			"proc/self/cgroup": "12:cpu,cpuacct:/x\n5:hugetlb,memory:/docker/0123\n0::/init\n",
			"sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes": "1000000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":             "9223372036854771712\n",
		}, Limit{1_000_000, "cgroup"}},
		"version 1 without a limit": {map[string]string{
			"proc/self/cgroup":                           "5:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, Limit{machine, "machine"}},
		"nonsense": {map[string]string{
			"proc/self/cgroup":         "x\n0::../../..\n::\n",
			"sys/fs/cgroup/memory.max": "-5\n",
		}, Limit{machine, "machine"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/meminfo": file(meminfo)}
			for name, text := range c.files {
				root[name] = file(text)
			}
			if got, err := fromProc(root); err != nil || got != c.want {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
	if _, err := fromProc(fstest.MapFS{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("without any file: %v", err)
	}
}

func TestThisMachineSaysSomething(t *testing.T) {
	l, err := Get()
	if runtime.GOOS != "linux" && errors.Is(err, ErrUnknown) {
		t.Skip(err)
	}
	if err != nil || l.Bytes < 64<<20 {
		t.Fatalf("%+v, %v", l, err)
	}
}
