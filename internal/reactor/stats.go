package reactor

import "github.com/larder-cache/larder/internal/netbuf"

// Stats are the totals of a server since it started.
type Stats struct {
	Loops       int
	Clients     int64  // connections now, those still being closed included
	Accepted    uint64 // connections handed to a loop
	Rejected    uint64 // refused because of MaxClients
	AcceptFails uint64 // times that accepting stopped for lack of descriptors or memory

	counters

	Buffers netbuf.Stats
}

// counters are the totals of a loop.
type counters struct {
	Closed      uint64 // connections closed, for any reason
	OutputCut   uint64 // of these: above the hard limit, or for too long above the soft one
	Stalled     uint64 // took no output for too long
	InputCut    uint64 // frame above the input limit
	Turns       uint64
	Reads       uint64 // receive calls
	Writes      uint64 // send calls
	ShortWrites uint64 // of these: did not take everything
	BytesIn     uint64
	BytesOut    uint64
	BytesMoved  uint64 // input bytes moved to make room
	BudgetStops uint64 // turns in which a connection was stopped by its budget of bytes or the handler's
	// Congestions is how often a connection was not read because of its output. The portable implementation mostly
	// waits in the write itself, which is not counted.
	Congestions uint64
}

// add adds other to k.
func (k *counters) add(other *counters) {
	k.Closed += other.Closed
	k.OutputCut += other.OutputCut
	k.Stalled += other.Stalled
	k.InputCut += other.InputCut
	k.Turns += other.Turns
	k.Reads += other.Reads
	k.Writes += other.Writes
	k.ShortWrites += other.ShortWrites
	k.BytesIn += other.BytesIn
	k.BytesOut += other.BytesOut
	k.BytesMoved += other.BytesMoved
	k.BudgetStops += other.BudgetStops
	k.Congestions += other.Congestions
}
