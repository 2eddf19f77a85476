//go:build unix && !linux && !race

package memory

import "golang.org/x/sys/unix"

const noReserve = 0

// hugePages is empty: they are asked for on Linux only.
type hugePages struct{}

func (m *mapping) prepare() {}

func (m *mapping) lookForPool() {}

func (m *mapping) fetchPages(int) Tier { return Tier4K }

func (m *mapping) collapse(int) Tier { return Tier4K }

func (m *mapping) overlay(int, int) bool { return false }

func (m *mapping) poolEmpty() uint64 { return 0 }

func lockMemory(b []byte) error { return unix.Mlock(b) }
