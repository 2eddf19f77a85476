// Command embed shows the cache inside a program: no server, no network. README.md shows the same text.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/larder-cache/larder"
)

func main() {
	cache, err := larder.Open(larder.Options{MaxMemory: 64 << 20})
	check(err)
	sessions, err := cache.Collection("sessions")
	check(err)
	// The last argument is the time to live; 0 is for ever.
	check(sessions.Set([]byte("alice"), []byte("logged in"), time.Minute))
	// Get appends to its first argument: pass a buffer to reuse it.
	value, err := sessions.Get(nil, []byte("alice"))
	check(err)
	left, err := sessions.TTL([]byte("alice"))
	check(err)
	fmt.Printf("alice: %s, for %s more\n", value, left.Round(time.Second))
	check(cache.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
