package mapreduce_test

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// reading is a key of a secondary sort: the hottest of a station first.
type reading struct {
	Station string
	Degrees float64 `mapreduce:"desc"`
}

type readings = mapreduce.Job[int64, string, reading, string, string, string]

func hottest() readings {
	return readings{
		Name: "hottest", Settings: mapreduce.Settings{Reducers: 2},
		Map: func(t *mapreduce.Task, _ int64, line string, emit func(reading, string)) error {
			station, degrees, _ := strings.Cut(line, ",")
			d, err := strconv.ParseFloat(degrees, 64)
			emit(reading{station, d}, degrees)
			return err
		},
		Reduce: func(t *mapreduce.Task, key reading, values iter.Seq[string], emit func(string, string)) error {
			for v := range values {
				emit(key.Station, v)
				break
			}
			return nil
		},
		Group:     func(a, b reading) int { return cmp.Compare(a.Station, b.Station) },
		Partition: func(k reading, n int) int { return job.Partition([]byte(k.Station), n) },
	}
}

// BenchmarkSecondarySort compares a key's own order with a Compare.
func BenchmarkSecondarySort(b *testing.B) {
	dir := b.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range 400_000 {
		text = fmt.Appendf(text, "station%d,%.2f\n", r.IntN(3000), r.NormFloat64()*20)
	}
	if err := os.WriteFile(dir+"/in", text, 0o666); err != nil {
		b.Fatal(err)
	}
	own, compared := hottest(), hottest()
	compared.Compare = func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.Station, b.Station), cmp.Compare(b.Degrees, a.Degrees))
	}
	for _, c := range []struct {
		name string
		j    readings
	}{{"own-order", own}, {"compare", compared}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				if _, err := jobtest.Run(b.Context(), c.j.Definition(), []string{dir + "/in", b.TempDir() + "/out"}, jobtest.Options{Memory: 1 << 30}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
