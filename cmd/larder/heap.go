package main

import (
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/larder-cache/larder/internal/command"
	"github.com/larder-cache/larder/internal/reactor"
)

const (
	// heapSpare is the Go heap from which memory is given back when a connection ends. Records are not on it; a server
	// at work needs a few MiB for buffers, and a cut client may leave up to its output limit behind.
	heapSpare = 128 << 20
	// heapRest is the least time between two collections for that reason.
	heapRest = 5 * time.Second
)

// handler is the command server as the reactor calls it, from Serve on: it is set when the port is known, which INFO
// shows. It also gives memory back: the garbage of large replies would otherwise stay resident until the runtime's own
// collection, which on an idle server comes after two minutes and returns pages slowly.
type handler struct {
	*command.Server
	heap heapKeeper
}

// Closed ends the session and looks whether the connection left much behind.
func (h *handler) Closed(conn *reactor.Conn, err error) {
	h.Server.Closed(conn, err)
	h.heap.look()
}

// heapKeeper collects garbage and returns it to the system, at most once per heapRest, on a goroutine of its own.
type heapKeeper struct {
	asked   atomic.Bool // since the last look at the heap
	running atomic.Bool // the goroutine is there
	last    time.Time   // of the last look; the goroutine's
	size    func() uint64
	collect func()
}

func newHeapKeeper() heapKeeper { return heapKeeper{size: residentHeap, collect: debug.FreeOSMemory} }

// look asks for a look at the heap. It does not wait.
func (k *heapKeeper) look() {
	k.asked.Store(true)
	if k.running.CompareAndSwap(false, true) {
		go k.run()
	}
}

func (k *heapKeeper) run() {
	for {
		for k.asked.Load() {
			time.Sleep(heapRest - time.Since(k.last))
			k.asked.Store(false)
			if k.size() > heapSpare {
				k.collect()
			}
			k.last = time.Now()
		}
		k.running.Store(false)
		// Who asked in between found the goroutine there and left.
		if !k.asked.Load() || !k.running.CompareAndSwap(false, true) {
			return
		}
	}
}

// residentHeap returns the bytes of the Go heap that the system has not got back.
func residentHeap() uint64 {
	s := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	var sum uint64
	for i := range s {
		if s[i].Value.Kind() == metrics.KindUint64 {
			sum += s[i].Value.Uint64()
		}
	}
	return sum
}
