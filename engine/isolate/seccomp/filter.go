package seccomp

import (
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in the kernel's seccomp_data. Both architectures have the low half of an argument first.
const (
	atNumber       = 0
	atArchitecture = 4
	atFlags        = 16 // the first argument's low half
)

// Flags of clone and unshare for new namespaces. CLONE_NEWTIME has another meaning in clone's
// flags.
const (
	cloneNamespaces   = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	unshareNamespaces = cloneNamespaces | unix.CLONE_NEWTIME
)

// missing is the answer to calls that shall look as if the kernel did not have them.
const missing = bpfReturn(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))

type bpfReturn uint32

func (r bpfReturn) instruction() bpf.Instruction { return bpf.RetConstant{Val: uint32(r)} }

// filter is a program for the kernel that answers refused calls with an action, except those
// allowed by name.
func filter(allowed []string, refusal uint32) ([]unix.SockFilter, error) {
	if architecture == 0 {
		return nil, errors.New("isolation has no list of system calls for " + runtime.GOARCH + ": run launchers that isolate on amd64 or arm64")
	}
	if err := Check(allowed); err != nil {
		return nil, err
	}
	refuse := bpf.RetConstant{Val: refusal}
	is := func(number uint32, then ...bpf.Instruction) []bpf.Instruction {
		return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(then))}}, then...) //nolint:gosec // a few
	}
	p := []bpf.Instruction{bpf.LoadAbsolute{Off: atArchitecture, Size: 4}}
	p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: architecture, SkipTrue: 1}, refuse, bpf.LoadAbsolute{Off: atNumber, Size: 4})
	if foreignBit != 0 {
		// A tracer sets the number -1 to have a call skipped; it is no call of x32.
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: math.MaxUint32, SkipTrue: 2}, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: foreignBit, SkipTrue: 1}, refuse)
	}
	p = append(p, bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: last, SkipTrue: 1}, missing.instruction())
	// clone3's flags lie in memory, where no filter sees them. With ENOSYS libraries use clone
	// instead.
	p = append(p, is(unix.SYS_CLONE3, missing.instruction())...)
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if !slices.Contains(allowed, name) {
			p = append(p, is(refused[name], refuse)...)
		}
	}
	if !slices.Contains(allowed, Namespaces) {
		for _, c := range []struct{ number, flags uint32 }{{unix.SYS_CLONE, cloneNamespaces}, {unix.SYS_UNSHARE, unshareNamespaces}} {
			p = append(p, is(c.number, bpf.LoadAbsolute{Off: atFlags, Size: 4}, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: c.flags, SkipTrue: 1}, refuse, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})...)
		}
	}
	raw, err := bpf.Assemble(append(p, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
	if err != nil {
		return nil, err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return program, nil
}
