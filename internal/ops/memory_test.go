package ops

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/larder-cache/larder/internal/memory"
)

func fetch(t *testing.T, url string) (int, string, []byte) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, r.Header.Get("Content-Type"), body
}

func TestLeakProfileOpensInPprof(t *testing.T) {
	s := openStore(t)
	_, url := start(t, Options{Sources: Sources{Store: s}})
	if code, _, body := fetch(t, url+"/debug/arena/pprof"); code != http.StatusConflict || !strings.Contains(string(body), "off") {
		t.Fatalf("%d %s", code, body)
	}
	c, err := s.Collection("0")
	if err != nil {
		t.Fatal(err)
	}
	s.StartLeakCheck(1)
	for _, k := range []string{"a", "b", "c"} {
		if err := c.Set(c.Hash([]byte(k)), []byte(k), make([]byte, 3000), 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	code, _, body := fetch(t, url+"/debug/arena/pprof")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	p, err := profile.ParseData(body)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var cells, bytes int64
	for _, sample := range p.Sample {
		cells += sample.Value[0]
		bytes += sample.Value[1]
	}
	if cells != 3 || bytes < 9000 {
		t.Fatalf("%d cells, %d bytes", cells, bytes)
	}
	file := filepath.Join(t.TempDir(), "arena.pb.gz")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-cum", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "TestLeakProfileOpensInPprof") {
		t.Fatalf("go tool pprof: %v\n%s", err, out)
	}
}

func TestMemoryMapIsCompactJSON(t *testing.T) {
	s := openStore(t)
	_, url := start(t, Options{Sources: Sources{Store: s}})
	c, _ := s.Collection("0")
	for i := range 1000 {
		k := []byte{byte(i), byte(i >> 8)}
		_ = c.Set(c.Hash(k), k, make([]byte, 1000), 0, 0)
	}
	code, kind, body := fetch(t, url+"/api/memory/map")
	var got struct {
		GroupBytes int `json:"group_bytes"`
		Groups     []struct {
			State string         `json:"s"`
			Tier  string         `json:"t"`
			Used  int            `json:"u"`
			Live  float64        `json:"l"`
			Sizes map[string]int `json:"c"`
		} `json:"groups"`
	}
	if err := json.Unmarshal(body, &got); err != nil || code != http.StatusOK || kind != "application/json" {
		t.Fatalf("%d %s: %v: %s", code, kind, err, body)
	}
	records := 0
	for _, g := range got.Groups {
		slots := 0
		for _, n := range g.Sizes {
			slots += n
		}
		if slots != g.Used || g.Live < 0 || g.Live > 1 {
			t.Errorf("%+v", g)
		}
		if g.State == "records" {
			records++
		}
	}
	if got.GroupBytes != memory.GroupSize || records == 0 || len(body) > 200*len(got.Groups)+100 {
		t.Fatalf("%s", body)
	}
}
