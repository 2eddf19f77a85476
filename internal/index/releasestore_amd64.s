#include "textflag.h"

// func releaseStore(p *uint32, v uint32)
TEXT ·releaseStore(SB), NOSPLIT|NOFRAME, $0-12
	MOVQ	p+0(FP), AX
	MOVL	v+8(FP), CX
	MOVL	CX, (AX)
	RET
