package cpuaffinity

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// allowed is where each thread of this process may run.
func allowed(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		all = append(all, listOf(string(b)))
	}
	return all
}

func listOf(status string) string {
	_, after, _ := strings.Cut(status, "Cpus_allowed_list:\t")
	list, _, _ := strings.Cut(after, "\n")
	return list
}

func TestKeepToOne(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	before, threads := allowed(t)[0], runtime.GOMAXPROCS(0)
	free := KeepToOne()
	for _, list := range allowed(t) {
		if strings.ContainsAny(list, ",-") {
			t.Errorf("a thread may run on %s", list)
		}
	}
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("GOMAXPROCS is %d", n)
	}
	child, err := exec.Command("cat", "/proc/self/status").Output()
	if err != nil || strings.ContainsAny(listOf(string(child)), ",-") {
		t.Errorf("a process that it starts may run on %s (%v)", listOf(string(child)), err)
	}
	free()
	for _, list := range allowed(t) {
		if list != before {
			t.Errorf("freed, a thread may run on %s, and before on %s", list, before)
		}
	}
	if n := runtime.GOMAXPROCS(0); n != threads {
		t.Errorf("freed, GOMAXPROCS is %d, and was %d", n, threads)
	}
}

func TestSomebodyChose(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	before := allowed(t)[0]
	defer KeepToOne()()
	if list := allowed(t)[0]; list != before {
		t.Errorf("with GOMAXPROCS in the environment it may run on %s, before on %s", list, before)
	}
}
