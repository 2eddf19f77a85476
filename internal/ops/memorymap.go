package ops

import (
	"encoding/json"
	"net/http"

	"github.com/larder-cache/larder/internal/memory"
)

// A groupEntry is 2 MiB of memory in the picture. Its names are short because there are many.
type groupEntry struct {
	State string        `json:"s"`           // unused, free, records, index, moving, cold
	Tier  string        `json:"t,omitempty"` // of the pages
	Used  int           `json:"u,omitempty"` // pieces of 256 KiB in use, of 8
	Live  float64       `json:"l,omitempty"` // share of the bytes that is in cells handed out
	Sizes map[int32]int `json:"c,omitempty"` // pieces by the size of their cells
}

// memoryMapHandler answers /api/memory/map with an entry for each 2 MiB that were ever used.
func memoryMapHandler(s Sources) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		groups := s.Store.MemoryMap()
		out := struct {
			GroupBytes int          `json:"group_bytes"`
			Limit      int64        `json:"limit_bytes"`
			Groups     []groupEntry `json:"groups"`
		}{memory.GroupSize, s.Store.Stats().MaxMemory, make([]groupEntry, len(groups))}
		for i, g := range groups {
			e := groupEntry{State: g.State.String(), Used: g.Used, Live: float64(g.Live*1000/memory.GroupSize) / 1000}
			if g.State != memory.GroupCold && g.State != memory.GroupUnused {
				e.Tier = g.Tier.String()
			}
			for _, size := range g.Sizes {
				if size != 0 {
					if e.Sizes == nil {
						e.Sizes = map[int32]int{}
					}
					e.Sizes[size]++
				}
			}
			out.Groups[i] = e
		}
		body, err := json.Marshal(out)
		if err != nil {
			plain(w, http.StatusInternalServerError, err.Error())
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}
