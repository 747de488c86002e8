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
package seccomp
