// Package seccomp has the kernel refuse some system calls to an isolated worker, and reports the
// refused ones.
//
//	listener, err := seccomp.Refuse(names)        // in sandboxinit, before it becomes the worker
//	b := seccomp.Watch(file)                      // in the launcher, with the received listener
//	b.Each(func(call string) { ... })           // until the worker ends
//
// Refused are calls that programs which compute do not use, and with which attacks on the kernel
// begin. They are namespaces of users, keyrings, mounts, BPF, io_uring, tracing and modules. All
// else that a process may do without privileges is allowed.
//
// The launcher answers a refused call with EPERM, and writes the call's name into the attempt's
// log. It answers 200 calls of a worker at most; the kernel answers further ones with ENOSYS. Where
// another filter has a listener already, calls are refused and not named.
package seccomp
