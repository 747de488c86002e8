// Secondarysort finds, for each station, its hottest days: the values of a key come
// in an order of their own.
//
//	hamadryad local -- secondarysort [--days 3] INPUT... OUTPUT
//
// A line of input is "station,day,temperature". A line of output is station, tab,
// "day temperature" for its hottest days, the hottest first, with commas between.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"strconv"

	"github.com/hamadryad/hamadryad/engine/app"
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
		j := mapreduce.Bytes{Map: mapDay, Reduce: reduceDays(days), Partition: byStation, Group: compareStations}
		return j.Add(g, args[len(args)-1], mapreduce.Source{Patterns: args[1 : len(args)-1]})
	},
}

// A key is station, zero byte, and the temperature as eight bytes of which a
// hotter day's are less. As byte strings keys are in order of station, then of
// heat, so that no Compare is needed. Group and partition look at the station.

func appendKey(dst, station []byte, temperature float64) []byte {
	bits := math.Float64bits(temperature)
	if bits>>63 == 0 {
		bits = ^bits & (1<<63 - 1) // the hotter, the less; below all negative ones
	}
	return binary.BigEndian.AppendUint64(append(append(dst, station...), 0), bits)
}

func stationOf(key []byte) []byte { return key[:len(key)-9] }

func compareStations(a, b []byte) int { return bytes.Compare(stationOf(a), stationOf(b)) }

func byStation(key []byte, n int) int { return job.Partition(stationOf(key), n) }

func mapDay(t *mapreduce.Task, emit *mapreduce.Emitter) error {
	var key []byte
	for line, err := range t.Lines() {
		if err != nil {
			return err
		}
		station, rest, _ := bytes.Cut(line.Text, []byte(","))
		_, degrees, ok := bytes.Cut(rest, []byte(","))
		temperature, err := strconv.ParseFloat(string(degrees), 64)
		if err != nil || !ok || math.IsNaN(temperature) || bytes.IndexByte(station, 0) >= 0 {
			return fmt.Errorf("%q is no station, day and temperature", line.Text)
		}
		key = appendKey(key[:0], station, temperature)
		emit.Pair(key, rest)
	}
	return nil
}

func reduceDays(days int) func(*mapreduce.Task, []byte, *mapreduce.Values, *mapreduce.Writer) error {
	return func(_ *mapreduce.Task, key []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
		station := bytes.Clone(stationOf(key))
		var list []byte
		for range days { // the rest of the values is skipped
			v, ok := values.Next()
			if !ok {
				break
			}
			if len(list) > 0 {
				list = append(list, ',')
			}
			list = append(list, bytes.ReplaceAll(v, []byte(","), []byte(" "))...)
		}
		out.Pair(station, list)
		return nil
	}
}
