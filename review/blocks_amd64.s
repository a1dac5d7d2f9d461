//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// Thirty-two times the same byte.
#define BYTES(name, eight) \
	DATA name<>+0(SB)/8, $eight  \
	DATA name<>+8(SB)/8, $eight  \
	DATA name<>+16(SB)/8, $eight \
	DATA name<>+24(SB)/8, $eight \
	GLOBL name<>(SB), RODATA|NOPTR, $32

BYTES(quote, 0x2222222222222222)
BYTES(slash, 0x5C5C5C5C5C5C5C5C)
BYTES(comma, 0x2C2C2C2C2C2C2C2C)
BYTES(colon, 0x3A3A3A3A3A3A3A3A)
BYTES(opener, 0x7B7B7B7B7B7B7B7B)
BYTES(closer, 0x7D7D7D7D7D7D7D7D)
BYTES(sixth, 0x2020202020202020)
BYTES(control, 0x1F1F1F1F1F1F1F1F)

// BITS gathers the highest bit of each of 64 bytes. It changes AX.
#define BITS(first, second, out) \
	VPMOVMSKB first, out \
	VPMOVMSKB second, AX \
	SHLQ      $32, AX    \
	ORQ       AX, out

// EQUAL finds a byte. It changes AX, Y4 and Y5.
#define EQUAL(byte, first, second, out) \
	VPCMPEQB byte<>(SB), first, Y4  \
	VPCMPEQB byte<>(SB), second, Y5 \
	BITS(Y4, Y5, out)

// OUTSIDE finds a byte outside of strings. It changes AX, Y4 and Y5.
#define OUTSIDE(byte, first, second, inside, out) \
	EQUAL(byte, first, second, out) \
	ANDNQ out, inside, out

// NEXT moves bits to the bytes behind theirs, and keeps the last for the next block. It changes AX.
#define NEXT(bits, kept) \
	MOVQ kept, AX   \
	MOVQ bits, kept \
	SHLQ $1, AX, bits

// CARRY adds two numbers with the carry of the blocks before, and keeps that of this one. Where one of them has a row of bits, a bit
// that the other adds to the row ends up behind it, be that in another block. It changes AX.
#define CARRY(from, sum, kept) \
	MOVQ kept, AX  \
	ADDQ AX, AX    \
	ADCQ from, sum \
	SBBQ AX, AX    \
	MOVQ AX, kept

// func readBlock(b *block, text *[blockSize]byte)
TEXT ·readBlock(SB), NOSPLIT, $0-16
	MOVQ    b+0(FP), DI
	MOVQ    text+8(FP), SI
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1

	// Escapes: of a row of backslashes each second one.
	EQUAL(quote, Y0, Y1, R8)
	EQUAL(slash, Y0, Y1, R9)
	XORL  DX, DX
	MOVQ  block_escape(DI), BX
	MOVQ  R9, AX
	ORQ   BX, AX
	JZ    strings
	ANDNQ R9, BX, R9
	LEAQ  (BX)(R9*2), CX           // behind a backslash
	MOVQ  $0xAAAAAAAAAAAAAAAA, AX
	ANDNQ AX, CX, AX               // where rows begin, at odd places
	XORL  BX, BX
	ADDQ  R9, AX
	ADCQ  $0, BX
	MOVQ  BX, block_escape(DI)
	ADDQ  AX, AX
	MOVQ  $0x5555555555555555, DX
	XORQ  AX, DX
	ANDQ  CX, DX                   // escaped
	ANDNQ R8, DX, R8

strings:
	MOVQ DX, block_escaped(DI)

	// CX: from the first quote of a string to before its last, DX: first quotes, R9: last quotes.
	VMOVQ      R8, X4
	VPCMPEQB   X5, X5, X5
	VPCLMULQDQ $0, X5, X4, X4
	VMOVQ      X4, CX
	XORQ       block_inside(DI), CX
	MOVQ       CX, AX
	SARQ       $63, AX
	MOVQ       AX, block_inside(DI)
	MOVQ       R8, DX
	ANDQ       CX, DX
	ANDNQ      R8, CX, R9

	// R10: openers, R11: closers, R12: commas, R13: colons, R8: all else, which are scalars.
	VPOR sixth<>(SB), Y0, Y2
	VPOR sixth<>(SB), Y1, Y3
	OUTSIDE(opener, Y2, Y3, CX, R10)
	OUTSIDE(closer, Y2, Y3, CX, R11)
	OUTSIDE(comma, Y0, Y1, CX, R12)
	OUTSIDE(colon, Y0, Y1, CX, R13)
	ORQ  CX, R8
	ORQ  R10, R8
	ORQ  R11, R8
	ORQ  R12, R8
	ORQ  R13, R8
	NOTQ R8

	// SI: behind the end of a value or name, BX: behind a byte of a scalar, R14: where one starts.
	MOVQ R9, SI
	ORQ  R11, SI
	ORQ  R8, SI
	NEXT(SI, block_ends(DI))
	MOVQ  R8, BX
	NEXT(BX, block_scalars(DI))
	ANDNQ R8, BX, R14
	MOVQ  R14, block_starts(DI)

	// R8: wrong. A comma or closer that follows no end, but for a closer behind an opener.
	MOVQ  R10, BX
	NEXT(BX, block_openers(DI))
	ANDQ  R11, BX
	ORQ   SI, BX
	ORQ   R11, R12
	ANDNQ R12, BX, R8

	// A start that follows an end.
	ORQ  R10, R14
	MOVQ R14, BX
	ORQ  DX, BX
	ANDQ SI, BX
	ORQ  BX, R8

	// Control characters.
	VPMINUB  control<>(SB), Y0, Y4
	VPMINUB  control<>(SB), Y1, Y5
	VPCMPEQB Y0, Y4, Y4
	VPCMPEQB Y1, Y5, Y5
	BITS(Y4, Y5, BX)
	ORQ      BX, R8

	// SI: behind a colon, CX: the last quotes of strings that are not, which in an object are names, R9: behind those.
	MOVQ  R13, SI
	NEXT(SI, block_colons(DI))
	ANDNQ DX, SI, DX
	CARRY(DX, CX, block_naming(DI))
	ANDQ  R9, CX
	MOVQ  CX, R9
	NEXT(R9, block_names(DI))

	// A colon that follows no such string.
	ANDNQ R13, R9, AX
	ORQ   AX, R8
	MOVQ  R8, block_wrong(DI)

	// R9: what is wrong in an object. A name without a colon, and no name where there is to be one.
	ANDNQ R9, R13, R9
	ANDNQ R14, SI, R14
	ORQ   R14, R9

	// What is wrong in a list, a colon, or in an object shows at the next bracket.
	ORQ  R10, R11
	MOVQ R11, block_brackets(DI)
	NOTQ R11
	CARRY(R11, R13, block_colonned(DI))
	MOVQ R13, block_inList(DI)
	MOVQ R9, BX
	ANDQ R11, BX
	CARRY(R11, BX, block_nameless(DI))
	ORQ  R9, BX
	MOVQ BX, block_inObject(DI)

	// Braces are brackets with the sixth bit.
	VPSLLW $2, Y0, Y4
	VPSLLW $2, Y1, Y5
	BITS(Y4, Y5, BX)
	MOVQ   BX, block_curly(DI)
	VZEROUPPER
	RET
