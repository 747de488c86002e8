// Command machine runs programs as root in a small virtual machine: QEMU with Debian's kernel, all
// of cgroup2, and nothing else. It is for tests that need more rights than the host gives them.
//
//	machine -run 'build/machine/group.test -test.v' -run 'build/machine/launcher.test -test.run Limits'
//
// The first word of each command line is a static program of this system. It lies in the
// machine's /bin, beside busybox; what follows is for the shell there. They run one after the
// other and print to the standard output. The last exit code that is not 0 is this program's.
//
// Kernel and busybox come from Debian's packages, which apt-get fetches once into the user's
// cache folder. The machine has two processors and no network but its own. Where the host's
// processor can't help (no KVM) it is emulated, and slow.
package main
