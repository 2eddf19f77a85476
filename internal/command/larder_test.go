package command

import (
	"strings"
	"testing"
)

func TestLarderFamily(t *testing.T) {
	server := newRigServer(t, Options{})
	r := dial(t, server)
	for i := range 100 {
		r.do("SET k" + strings.Repeat("x", i) + " value")
	}
	got := r.do("LARDER AUDIT")
	for _, part := range []string{`"healthy", "yes"`, `"records", :100`, `"lost-cells", :0`, `"faults", []`} {
		if !strings.Contains(got, part) {
			t.Errorf("LARDER AUDIT lacks %s: %s", part, got)
		}
	}
	if got := r.do("LARDER MEMORY MAP"); !strings.Contains(got, "records pages=") || !strings.Contains(got, "index pages=") {
		t.Error(got)
	}
	r.expect("LARDER LEAKCHECK REPORT", `"the leak check is off"`)
	r.expect("LARDER LEAKCHECK ON", "+OK")
	r.do("SET new value")
	if got := r.do("LARDER LEAKCHECK REPORT"); !strings.Contains(got, "1 cells") || !strings.Contains(got, "index.(*Table)") {
		t.Error(got)
	}
	r.expect("LARDER LEAKCHECK ON RATE 100", "+OK")
	r.expect("LARDER LEAKCHECK OFF", "+OK")
	for _, line := range []string{
		"LARDER LEAKCHECK", "LARDER LEAKCHECK MAYBE", "LARDER LEAKCHECK ON RATE", "LARDER LEAKCHECK ON RATE 0", "LARDER LEAKCHECK ON RATE x",
		"LARDER LEAKCHECK OFF now", "LARDER MEMORY", "LARDER MEMORY MOP", "LARDER AUDIT all", "LARDER", "LARDER nothing",
	} {
		if got := r.do(line); !strings.HasPrefix(got, "-ERR") {
			t.Errorf("%s: %s", line, got)
		}
	}
}
