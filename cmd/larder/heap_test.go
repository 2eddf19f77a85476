package main

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestHeapIsGivenBackOncePerRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var size, collected atomic.Uint64
		size.Store(heapSpare)
		k := heapKeeper{size: size.Load, collect: func() { collected.Add(1) }}
		k.look()
		synctest.Wait()
		if collected.Load() != 0 {
			t.Fatal("a small heap was collected")
		}
		size.Add(1)
		for range 100 { // a crowd of connections that end
			k.look()
		}
		synctest.Wait()
		if collected.Load() != 0 {
			t.Fatal("collected again within the rest")
		}
		time.Sleep(heapRest + time.Millisecond)
		synctest.Wait()
		if collected.Load() != 1 {
			t.Fatalf("%d collections after the rest", collected.Load())
		}
		k.look()
		time.Sleep(heapRest + time.Millisecond)
		synctest.Wait()
		if collected.Load() != 2 {
			t.Fatalf("%d collections for a later connection", collected.Load())
		}
	})
}

func TestResidentHeapFollowsWhatIsGivenBack(t *testing.T) {
	const size = 64 << 20
	debug.FreeOSMemory()
	before := residentHeap()
	block := make([]byte, size)
	with := residentHeap()
	runtime.KeepAlive(block)
	debug.FreeOSMemory()
	after := residentHeap()
	if before == 0 || with < size || after > with-size/2 {
		t.Errorf("%d bytes before, %d with %d more, %d after they went", before, with, size, after)
	}
}
