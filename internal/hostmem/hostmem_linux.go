package hostmem

import "os"

// Get returns the memory of the machine, or the limit of a control group when that is less.
func Get() (Limit, error) { return fromProc(os.DirFS("/")) }
