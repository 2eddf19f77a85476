// Command embed shows the cache inside a program: no server, no network.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/larder-cache/larder"
)

func main() {
	cache, err := larder.Open(larder.Options{MaxMemory: 64 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = cache.Close() }()
	sessions, err := cache.Collection("sessions")
	if err != nil {
		log.Fatal(err)
	}
	if err := sessions.Set([]byte("alice"), []byte("logged in"), time.Minute); err != nil {
		log.Fatal(err)
	}
	value, err := sessions.Get(nil, []byte("alice")) // appends to its first argument: pass a buffer to reuse it
	if err != nil {
		log.Fatal(err)
	}
	left, err := sessions.TTL([]byte("alice"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("alice: %s, for %s more\n", value, left.Round(time.Second))
}
