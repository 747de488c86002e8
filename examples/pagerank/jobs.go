package main

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Counters of a step.
const (
	moved     = "RANKS_MOVED" // ranks that changed by more than the tolerance
	stuckRank = "STUCK_RANK"  // rank of all pages without links, in units of 1/rankUnit
)

// rankUnit scales ranks to integers for a counter.
const rankUnit = 1e9

func countStuck(t *mapreduce.Task, rank float64, links string) {
	if links == "" {
		t.Count(stuckRank, int64(math.Round(rank*rankUnit)))
	}
}

// prepare gives each page the rank 1, and adds a line for pages that are only linked to.
var prepare = mapreduce.TextJob[string, string]{
	Name: "pagerank-prepare",
	Map: func(_ *mapreduce.Task, _ int64, line string, emit func(page, links string)) error {
		page, links, _ := strings.Cut(line, "\t")
		if page == "" {
			return fmt.Errorf("a line without a page")
		}
		emit(page, links)
		for link := range strings.FieldsSeq(links) {
			emit(link, "")
		}
		return nil
	},
	Reduce: func(t *mapreduce.Task, page string, values iter.Seq[string], emit func(page, rest string)) error {
		var all []string
		for v := range values {
			all = append(all, strings.Fields(v)...)
		}
		links := strings.Join(all, " ")
		countStuck(t, 1, links)
		emit(page, "1\t"+links)
		return nil
	},
}

// stepDefinition is one step: each page distributes its rank along its links.
var stepDefinition = job.Definition{
	Name: "pagerank-step",
	Help: "PAGES STUCK DAMPING TOLERANCE INPUT OUTPUT  one step of pagerank",
	Build: func(g *job.Graph, args []string) error {
		s, err := parseStepArgs(args)
		if err != nil {
			return err
		}
		return step(s).Definition().Build(g, args[stepArgsCount:])
	},
}

// A page's values are shares of other pages' ranks, and its own line.
const (
	isShare = "+"
	isPage  = "="
)

func step(s stepArgs) mapreduce.TextJob[string, string] {
	return mapreduce.TextJob[string, string]{
		Name: "pagerank-step",
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(page, value string)) error {
			page, rest, _ := strings.Cut(line, "\t")
			rank, links, err := cutRank(rest)
			if err != nil {
				return err
			}
			emit(page, isPage+rest)
			to := strings.Fields(links)
			for _, link := range to {
				emit(link, isShare+formatRank(rank/float64(len(to))))
			}
			return nil
		},
		Reduce: func(t *mapreduce.Task, page string, values iter.Seq[string], emit func(page, rest string)) error {
			return s.reduce(t, page, values, emit)
		},
	}
}

func (s stepArgs) reduce(t *mapreduce.Task, page string, values iter.Seq[string], emit func(page, rest string)) error {
	sum := float64(s.stuck) / rankUnit / float64(s.pages)
	before, links := 0.0, ""
	for v := range values {
		var err error
		if share, ok := strings.CutPrefix(v, isShare); ok {
			var r float64
			r, err = strconv.ParseFloat(share, 64)
			sum += r
		} else {
			before, links, err = cutRank(strings.TrimPrefix(v, isPage))
		}
		if err != nil {
			return err
		}
	}
	rank := 1 - s.damping + s.damping*sum
	if math.Abs(rank-before) > s.tolerance {
		t.Count(moved, 1)
	}
	countStuck(t, rank, links)
	emit(page, formatRank(rank)+"\t"+links)
	return nil
}

func formatRank(r float64) string { return strconv.FormatFloat(r, 'g', -1, 64) }

// cutRank cuts "rank, tab, links".
func cutRank(rest string) (rank float64, links string, err error) {
	text, links, ok := strings.Cut(rest, "\t")
	if rank, err = strconv.ParseFloat(text, 64); err != nil || !ok {
		return 0, "", fmt.Errorf("%q is no rank and links", rest)
	}
	return rank, links, nil
}
