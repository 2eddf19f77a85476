//go:build amd64 || s390x || (!amd64 && !s390x && !arm64)

package index

// These processors keep loads in order and stores in order, or (the last group) every read takes the lane's lock.

func loadBarrier() {}

func storeBarrier() {}
