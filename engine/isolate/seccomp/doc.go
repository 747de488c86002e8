// Package seccomp says which system calls an isolated worker may not make, has the kernel
// refuse them, and tells which were refused.
//
//	listener, err := seccomp.Refuse(names)        // in the step, before it becomes the worker
//	b := seccomp.Watch(file)                      // in the launcher, of the listener that it was sent
//	b.Each(func(call string) { ... })           // until the worker ends
//
// What is refused is what programs that compute have no use for and what attacks on the
// kernel begin with: namespaces of users, keyrings, mounts, BPF, io_uring, tracing, modules.
// Whatever a program may do without privileges otherwise it may do.
//
// The launcher answers a refused call with EPERM, and writes the call's name into the attempt's
// log. It answers 200 calls of a worker at most; the kernel answers further ones with ENOSYS. Where
// another filter has a listener already, calls are refused and not named.
package seccomp
