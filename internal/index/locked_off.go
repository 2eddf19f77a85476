//go:build !race && (amd64 || arm64 || s390x)

package index

// lockedReads makes readers take the lane's lock. It is off where the order of loads and stores is known.
const lockedReads = false
