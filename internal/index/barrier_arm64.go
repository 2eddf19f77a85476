package index

// loadBarrier completes all earlier loads before any later one: an acquiring load orders only what follows it, and the
// second look at a version must follow the copy.
//
//go:noescape
func loadBarrier()

// storeBarrier makes earlier stores visible before any later one: a releasing store orders only what precedes it, and
// the odd version must be seen before the change it announces.
//
//go:noescape
func storeBarrier()
