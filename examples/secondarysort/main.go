// Secondarysort finds, for each station, its hottest days: the values of a key arrive sorted
// (secondary sort).
//
//	hamadryad local -- secondarysort [--days 3] INPUT... OUTPUT
//
// A line of input is "station,day,temperature". A line of output is station, tab, "day temperature"
// for its hottest days, the hottest first, with commas between.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	days := flag.Int("days", 3, "how many days of each station")
	app.Drive(func(ctx context.Context, c *app.Client) error {
		_, err := c.Run(ctx, hottest.Name, append([]string{strconv.Itoa(*days)}, c.Args()...))
		return err
	}, hottest)
}

var hottest = job.Definition{
	Name: "secondarysort",
	Help: "DAYS INPUT... OUTPUT  the hottest days of each station",
	Build: func(g *job.Graph, args []string) error {
		if len(args) < 3 {
			return errors.New("give one or more inputs and the output folder: INPUT... OUTPUT")
		}
		days, err := strconv.Atoi(args[0])
		if err != nil || days < 1 {
			return fmt.Errorf("%q days: give 1 or more", args[0])
		}
		return topDays(days).Add(g, args[len(args)-1], mapreduce.Source{Patterns: args[1 : len(args)-1]})
	},
}

// reading is a key, sorted by station, then hottest first. The tags define the order, so no Compare
// is needed.
type reading struct {
	Station string
	Degrees float64 `mapreduce:"desc"`
}

// topDays returns the job. Partition and Group look only at the station, so Reduce is called once
// for each station. The rest of the key orders its values.
func topDays(days int) mapreduce.Job[int64, string, reading, string, string, string] {
	return mapreduce.Job[int64, string, reading, string, string, string]{
		Map:       mapDay,
		Partition: func(key reading, n int) int { return job.Partition([]byte(key.Station), n) },
		Group:     func(a, b reading) int { return strings.Compare(a.Station, b.Station) },
		Reduce: func(_ *mapreduce.Task, key reading, values iter.Seq[string], emit func(string, string)) error {
			var list []string
			for day := range values {
				if list = append(list, day); len(list) == days {
					break // remaining values are skipped
				}
			}
			emit(key.Station, strings.Join(list, ","))
			return nil
		},
	}
}

func mapDay(_ *mapreduce.Task, _ int64, line string, emit func(reading, string)) error {
	station, rest, _ := strings.Cut(line, ",")
	day, degrees, ok := strings.Cut(rest, ",")
	temperature, err := strconv.ParseFloat(degrees, 64)
	if err != nil || !ok || math.IsNaN(temperature) {
		return fmt.Errorf("%q is no station, day and temperature", line)
	}
	emit(reading{station, temperature}, day+" "+degrees)
	return nil
}
