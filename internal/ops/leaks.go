package ops

import (
	"net/http"
	"runtime"

	"github.com/google/pprof/profile"

	"github.com/larder-cache/larder/internal/memory"
)

// leakHandler answers /debug/arena/pprof with what the leak check knows, as a heap profile that `go tool pprof` opens.
func leakHandler(s Sources) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		report := s.Store.Leaks()
		if !report.On {
			plain(w, http.StatusConflict, "the leak check is off: LARDER LEAKCHECK ON switches it on")
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", `attachment; filename="arena.pb.gz"`)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		_ = leakProfile(report).Write(w) // a client that is gone needs no answer
	}
}

// leakProfile has the sample types of a Go heap profile, so that tools show both what is in use and what was allocated.
// Figures are those of the whole, not of the sample.
func leakProfile(r memory.LeakReport) *profile.Profile {
	p := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		DefaultSampleType: "inuse_space",
		PeriodType:        &profile.ValueType{Type: "objects", Unit: "count"},
		Period:            int64(r.Rate),
	}
	functions := map[string]*profile.Function{}
	locations := map[uintptr]*profile.Location{}
	for _, site := range r.Sites {
		sample := &profile.Sample{Value: []int64{site.Cells * int64(r.Rate), site.Bytes * int64(r.Rate)}}
		for _, pc := range site.Stack {
			loc := locations[pc]
			if loc == nil {
				loc = &profile.Location{ID: uint64(len(p.Location) + 1), Address: uint64(pc)}
				locations[pc] = loc
				p.Location = append(p.Location, loc)
				// Inlined calls share a counter: the innermost comes first.
				frames := runtime.CallersFrames([]uintptr{pc})
				for {
					f, more := frames.Next()
					if f.Function != "" {
						fn := functions[f.Function]
						if fn == nil {
							fn = &profile.Function{ID: uint64(len(p.Function) + 1), Name: f.Function, SystemName: f.Function, Filename: f.File}
							functions[f.Function] = fn
							p.Function = append(p.Function, fn)
						}
						loc.Line = append(loc.Line, profile.Line{Function: fn, Line: int64(f.Line)})
					}
					if !more {
						break
					}
				}
			}
			sample.Location = append(sample.Location, loc)
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}
