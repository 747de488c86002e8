package seccomp

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs a filter on a call as the kernel would. The machine of the tests reads numbers
// with the high byte first.
func verdict(t *testing.T, program []unix.SockFilter, arch, number, flags uint32) uint32 {
	t.Helper()
	raw := make([]bpf.RawInstruction, len(program))
	for i, s := range program {
		raw[i] = bpf.RawInstruction{Op: s.Code, Jt: s.Jt, Jf: s.Jf, K: s.K}
	}
	instructions, whole := bpf.Disassemble(raw)
	vm, err := bpf.NewVM(instructions)
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[atNumber:], number)
	binary.BigEndian.PutUint32(data[atArchitecture:], arch)
	binary.BigEndian.PutUint32(data[atFlags:], flags)
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got) //nolint:gosec // it is 32 bits
}

func TestFilter(t *testing.T) {
	const refusal, none, allow = uint32(unix.SECCOMP_RET_USER_NOTIF), uint32(unix.SECCOMP_RET_ERRNO | 38), uint32(unix.SECCOMP_RET_ALLOW)
	strict, err := filter(nil, refusal)
	if err != nil {
		t.Fatal(err)
	}
	loose, err := filter([]string{Namespaces, "mount"}, refusal)
	if err != nil {
		t.Fatal(err)
	}
	type call struct{ arch, number, flags uint32 }
	for _, c := range []struct {
		what   string
		call   call
		strict uint32
		loose  uint32
	}{
		{"read", call{architecture, unix.SYS_READ, 0}, allow, allow},
		{"execve", call{architecture, unix.SYS_EXECVE, 0}, allow, allow},
		{"mount", call{architecture, unix.SYS_MOUNT, 0}, refusal, allow},
		{"keyctl", call{architecture, unix.SYS_KEYCTL, 0}, refusal, refusal},
		{"a thread", call{architecture, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_FILES}, allow, allow},
		{"a namespace of users", call{architecture, unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_VM}, refusal, allow},
		{"a namespace of mounts", call{architecture, unix.SYS_UNSHARE, unix.CLONE_NEWNS}, refusal, allow},
		{"files of its own", call{architecture, unix.SYS_UNSHARE, unix.CLONE_FILES}, allow, allow},
		{"clone3", call{architecture, unix.SYS_CLONE3, 0}, none, none},
		{"what a newer kernel has", call{architecture, last + 1, 0}, none, none},
		{"i386", call{unix.AUDIT_ARCH_I386, unix.SYS_READ, 0}, refusal, refusal},
		{"arm", call{unix.AUDIT_ARCH_ARM, unix.SYS_READ, 0}, refusal, refusal},
		{"a call that a tracer skips", call{architecture, 0xffffffff, 0}, none, none},
	} {
		for i, want := range []uint32{c.strict, c.loose} {
			if got := verdict(t, [][]unix.SockFilter{strict, loose}[i], c.call.arch, c.call.number, c.call.flags); got != want {
				t.Errorf("%s, filter %d: %#x, want %#x", c.what, i, got, want)
			}
		}
	}
	if foreignBit != 0 {
		if got := verdict(t, strict, architecture, foreignBit|unix.SYS_READ, 0); got != refusal {
			t.Errorf("read of x32: %#x", got)
		}
	}
	for name, number := range refused {
		if got := verdict(t, strict, architecture, number, 0); got != refusal || number > last {
			t.Errorf("%s, %d: %#x", name, number, got)
		}
	}
}

// A name to be allowed that is not a refused call is an error: a person has misspelt it.
func TestCheck(t *testing.T) {
	if err := Check([]string{"bpf", Namespaces}); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"", "read", "Mount"} {
		if _, err := filter(slices.Concat([]string{"bpf"}, []string{wrong}), 0); err == nil {
			t.Errorf("%q is allowed", wrong)
		}
	}
}
