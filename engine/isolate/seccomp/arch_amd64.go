package seccomp

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_X86_64
	// foreignBit marks the calls of x32, which have numbers of their own.
	foreignBit = 0x40000000
)

var ofThisArchitecture = map[string]uint32{
	"iopl": unix.SYS_IOPL, "ioperm": unix.SYS_IOPERM, "modify_ldt": unix.SYS_MODIFY_LDT, "uselib": unix.SYS_USELIB,
	"create_module": unix.SYS_CREATE_MODULE, "query_module": unix.SYS_QUERY_MODULE, "get_kernel_syms": unix.SYS_GET_KERNEL_SYMS, "_sysctl": unix.SYS__SYSCTL,
}
