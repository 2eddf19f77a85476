//go:build race || !(amd64 || arm64 || s390x)

package index

// lockedReads makes readers take the lane's lock: under the race detector, which rightly objects to reading what is
// being written, and on processors whose ordering this package does not handle.
const lockedReads = true
