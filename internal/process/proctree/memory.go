package proctree

import (
	"os"
	"strconv"
	"strings"
)

// Trees returns the members of each root's tree, as Members does without a mark, in one pass over
// /proc.
func Trees(roots []int) map[int][]int {
	all := list()
	trees := make(map[int][]int, len(roots))
	for _, root := range roots {
		trees[root] = members(all, root, "")
	}
	return trees
}

// Memory is the processes' private memory, in bytes: anonymous and shared memory, including swapped
// pages. Pages of files, which the system reclaims when it needs them, do not count. Memory that
// processes share counts for each: the sum is never too small. Processes that have ended count
// nothing.
func Memory(pids ...int) int64 {
	return sum(pids, "status", "RssAnon:", "RssShmem:", "VmSwap:")
}

// MemoryShared is Memory with shared memory divided among the processes that share it, as after a
// fork. It costs a walk over all pages. It is 0 where the system does not report it.
func MemoryShared(pids ...int) int64 {
	return sum(pids, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:", "SwapPss:")
}

// sum adds up lines in kilobytes of a file of each process.
func sum(pids []int, file string, names ...string) int64 {
	total := int64(0)
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			for _, name := range names {
				if rest, ok := strings.CutPrefix(line, name); ok {
					kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
					total += kb << 10
				}
			}
		}
	}
	return total
}
