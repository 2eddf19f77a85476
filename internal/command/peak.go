package command

import "time"

// peakWithin is how soon after a turn the memory in use is looked at.
const peakWithin = time.Second

// watchPeak has the memory in use looked at once, soon. Every turn asks for it, so whatever commands fill is seen unless it
// is gone again within that time, at one look per peakWithin at most; a server without turns looks at nothing. Measuring at
// each write would cost more than the figure is worth: memory is counted by lane.
func (s *Server) watchPeak() {
	if !s.looking.Load() && s.looking.CompareAndSwap(false, true) {
		time.AfterFunc(peakWithin, func() {
			// A turn that ends from here on asks anew; what one before it stored is seen below.
			s.looking.Store(false)
			if !s.store.Closed() {
				s.notePeak(s.store.Stats().Used)
			}
		})
	}
}

// notePeak takes note of an amount of memory in use and returns the highest so far.
func (s *Server) notePeak(used int64) int64 {
	for {
		peak := s.peakUsed.Load()
		if used <= peak {
			return peak
		}
		if s.peakUsed.CompareAndSwap(peak, used) {
			return used
		}
	}
}
