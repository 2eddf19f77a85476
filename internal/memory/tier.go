package memory

// A Tier is the kind of pages behind a group.
type Tier uint8

const (
	tier4K Tier = iota
	tierTHP
	tierHeap
)

// String returns the name that is shown to users.
func (t Tier) String() string { return [...]string{"4k", "thp", "heap"}[t] }
