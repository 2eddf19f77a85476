//go:build race

package reactor

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = true
