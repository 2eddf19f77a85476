//go:build !linux

package command

import "time"

// processTimes returns 0 where the system is not asked.
func processTimes() (user, system time.Duration) { return 0, 0 }

// residentBytes returns 0 where the system is not asked.
func residentBytes() int64 { return 0 }
