package seccomp

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_AARCH64
	foreignBit   = 0 // 32-bit programs have another architecture
)

var ofThisArchitecture = map[string]uint32{}
