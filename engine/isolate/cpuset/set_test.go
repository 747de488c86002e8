package cpuset_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/isolate/cpuset"
)

// Lists are parsed as Linux writes them.
func TestParse(t *testing.T) {
	for list, want := range map[string]cpuset.Set{
		"0-3,8\n": {0, 1, 2, 3, 8}, "7": {7}, "\n": nil, "2,1,1-2": {1, 2},
	} {
		if got, err := cpuset.Parse(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"a", "3-1", "-1", "1-", "70000", "0-99999999999"} {
		if got, err := cpuset.Parse(list); err == nil {
			t.Errorf("%q is %v", list, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOfDistinct(rapid.IntRange(0, 1000), rapid.ID[int]).Draw(t, "processors")
		slices.Sort(s)
		if got, err := cpuset.Parse(cpuset.Set(s).String()); err != nil || !slices.Equal(got, s) {
			t.Errorf("%v became %v, %v", s, got, err)
		}
	})
}

// Processors of one core stay together, except those that may not be used. Without a readable file
// each processor is a core of its own.
func TestCores(t *testing.T) {
	system := fstest.MapFS{}
	for n, siblings := range map[int]string{0: "0,4", 4: "0,4", 1: "1,5", 5: "1,5", 2: "2-3", 3: "2-3", 6: "what?"} {
		system[fmt.Sprintf("cpu%d/topology/thread_siblings_list", n)] = &fstest.MapFile{Data: []byte(siblings + "\n")}
	}
	got := cpuset.Cores(system, cpuset.Set{0, 1, 2, 3, 4, 6, 7})
	if text := fmt.Sprint(got); text != "[0,4 1 2,3 6 7]" {
		t.Error(text)
	}
}
