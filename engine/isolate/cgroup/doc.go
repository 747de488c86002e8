// Package cgroup puts each of a launcher's workers into a cgroup2 group of its own, below one of
// the launcher's. A group is frozen and killed as one, with everything that was started in it. With
// limits, a group has bounds of memory and processes and a share of the processors.
//
//	p, err := cgroup.Choose(cgroup.Auto, identity, log) // with limits, nil: there are none here
//	p, err := cgroup.Open(identity)                    // without limits
//	defer p.Close()
//	g, err := p.New(cgroup.Limits{Memory: 1 << 30, Processes: 4096, Slots: 1})
//	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
//	err = cmd.Start(); g.Started()
//	err = g.Set(true)                 // freezes all, and what they start
//	err = g.Kill(); g.Remove()
//
// No privilege is requested: where the launcher may not write, there are no groups. The kernel's
// Documentation/admin-guide/cgroup-v2.rst describes each file.
//
// # Limits
//
// Limits need the controllers cpu, memory and pids in a folder that the launcher may write to
// (launcher.isolation.cgroup). A worker is started inside its group (clone3), so nothing of it is
// ever outside. Suspension freezes the same group.
//
//   - memory.max is what an attempt may hold: its memory and a quarter of it, at least 64 MiB.
//     Files in /tmp and /dev/shm count, and so does the kernel's memory for it. There is no swap,
//     except for suspended attempts where launcher.swap is set. When the group needs more, the
//     kernel ends all of it at once (memory.oom.group). memory.events says which limit was reached.
//     Over the group's own limit the attempt has failed, and the message names memory.max. Over the
//     machine's, or that of a group above, the attempt is lost and tried again elsewhere.
//   - A warm worker keeps the largest limit of its attempts, since a lower one could end it for
//     memory that it has not returned yet. Package launcher/internal/memory ends an attempt that
//     may hold less.
//   - cpu.weight is 100 a slot. Where processors are short, workers share them by slots, however
//     many threads they have. Otherwise all workers use free processors.
//   - pids.max is launcher.isolation.processes, for each worker. Forks beyond it fail.
//   - cgroup.kill ends everything that the worker started, wherever it went, without a namespace.
//     The next start of a launcher ends what a killed launcher left.
//
// # Where the groups are
//
// A group whose children have limits can't have processes itself, unless it is the machine's root.
// So a launcher that is alone in its group moves to a group "launchers" in it, and limits the
// groups beside that. A launcher that is not alone has no limits, and its log names the processes
// in the way; launcher.isolation.cgroup can name another folder. Elsewhere memory is measured five
// times a second, and processors are shared as they come. hamadryad_launcher_limits_info says which
// it is; the launcher's log also says whether cpuset divides processors.
package cgroup
