package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func run(t *testing.T, customers, orders string) ([]string, *jobtest.Result, error) {
	dir := t.TempDir()
	for name, text := range map[string]string{"customers": customers, "orders": orders} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	result, err := jobtest.Run(t.Context(), joined, []string{dir + "/customers", dir + "/orders", dir + "/out"}, jobtest.Options{})
	if err != nil {
		return nil, nil, err
	}
	parts, err := jobtest.Output(dir + "/out")
	return slices.Sorted(strings.Lines(strings.Join(parts, ""))), result, err
}

func TestJoin(t *testing.T) {
	got, result, err := run(t, "1,Daphne\n11,Baucis\n2,Syrinx\n", "o1,11\no2,1\no3,7\no4,11\n")
	if want := []string{"o1\tBaucis\n", "o2\tDaphne\n", "o4\tBaucis\n"}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v\n%q", err, got)
	}
	if n := result.Counters[ordersOfNobody]; n != 1 {
		t.Errorf("%d orders of nobody, want 1", n)
	}
}

func TestTwoCustomersOfOneID(t *testing.T) {
	_, _, err := run(t, "1,Daphne\n1,Baucis\n", "o1,1\n")
	if err == nil || !strings.Contains(err.Error(), `customer "1" is there twice`) {
		t.Errorf("%v", err)
	}
}
