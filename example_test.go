package larder_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/larder-cache/larder"
)

// openExample is Open and Collection without the handling of errors, which each example would repeat.
func openExample() (*larder.Cache, *larder.Collection) {
	cache, err := larder.Open(larder.Options{MaxMemory: 64 << 20})
	if err != nil {
		log.Fatal(err)
	}
	c, err := cache.Collection("things")
	if err != nil {
		log.Fatal(err)
	}
	return cache, c
}

func ExampleOptions_Validate() {
	fmt.Println(larder.Options{MaxMemory: 1 << 20, MaxValue: -1}.Validate())
	// Output:
	// larder: invalid options: MaxMemory is 1048576, want 8388608 to 274877906944 bytes
	// larder: invalid options: MaxValue is -1, want at most 1073741824 bytes
}

// One buffer serves all reads.
func ExampleCollection_Get() {
	cache, c := openExample()
	defer cache.Close()
	_ = c.Set([]byte("greeting"), []byte("hello"), time.Minute)
	buf := make([]byte, 0, 64)
	for _, key := range []string{"greeting", "farewell"} {
		var err error
		buf, err = c.Get(buf[:0], []byte(key))
		switch {
		case err == nil:
			fmt.Printf("%s: %s\n", key, buf)
		case errors.Is(err, larder.ErrNotFound):
			fmt.Printf("%s: absent\n", key)
		default:
			log.Fatal(err)
		}
	}
	// Output:
	// greeting: hello
	// farewell: absent
}

// A counter of requests per minute: the first request begins the minute, the others keep its end.
func ExampleCollection_Add() {
	cache, c := openExample()
	defer cache.Close()
	for range 3 {
		n, err := c.Add([]byte("requests"), 1, 0)
		if err == nil && n == 1 {
			_, err = c.Touch([]byte("requests"), time.Minute)
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	// Output:
	// 1
	// 2
	// 3
}

// A walk in pieces, as a program does it that answers others in between.
func ExampleCollection_Scan() {
	cache, c := openExample()
	defer cache.Close()
	for i := range 1000 {
		_ = c.Set(fmt.Appendf(nil, "key:%d", i), nil, 0)
	}
	seen := map[string]bool{} // a key may be given twice
	for cursor := uint64(0); ; {
		next, err := c.Scan(cursor, 100, func(key, _ []byte, _ time.Duration) bool {
			seen[string(key)] = true
			return true
		})
		if err != nil {
			log.Fatal(err)
		}
		if next == 0 {
			break
		}
		cursor = next
	}
	fmt.Println(len(seen))
	// Output: 1000
}
