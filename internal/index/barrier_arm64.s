#include "textflag.h"

// func loadBarrier()
TEXT ·loadBarrier(SB), NOSPLIT|NOFRAME, $0-0
	DMB	$0x9 // ISHLD
	RET

// func storeBarrier()
TEXT ·storeBarrier(SB), NOSPLIT|NOFRAME, $0-0
	DMB	$0xA // ISHST
	RET
