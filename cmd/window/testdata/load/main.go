// Load is the application of the window's tests: two stages whose tasks sleep for a given time, or
// until they are released.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(job.Definition{
		Name:  "load",
		Help:  "MAPS REDUCES MILLISECONDS plain|skewed|failing|held:FILE|printing:FOLDER: tasks that take so long; of skewed ones some take eight times as long, one of failing ones fails, held ones go on when FILE is there, and printing ones print what is in FOLDER/0, FOLDER/1 and so on as these come, until one is empty",
		Build: build,
	})
}

type load struct {
	takes time.Duration
	how   string
}

func build(g *job.Graph, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("want MAPS REDUCES MILLISECONDS HOW, got %q", args)
	}
	var numbers [3]int
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	l := &load{takes: time.Duration(numbers[2]) * time.Millisecond, how: args[3]}
	maps := g.Stage("map", numbers[0], l.doMap)
	reduces := g.Stage("reduce", numbers[1], l.doReduce).Shuffles()
	g.AllToAll(maps.Out("records"), reduces.In("records"), job.Channel{Kind: job.File, SlowStart: 0.5})
	return nil
}

func (l *load) doMap(ctx context.Context, n *job.Node) error {
	out, err := n.Output("records")
	if err != nil {
		return err
	}
	i := n.Info().Index
	fmt.Println("map", i, "begins")
	for r := range 50 {
		if err := out.Write(ctx, (int(i)+r)%out.Partitions(), fmt.Appendf(nil, "record %d of %d", r, i)); err != nil {
			return err
		}
	}
	n.Count("records", 50)
	takes := l.takes/2 + time.Duration(i*7919%100)*l.takes/100
	if l.how == "skewed" && i%13 == 5 {
		takes *= 8
	}
	if file, ok := strings.CutPrefix(l.how, "held:"); ok {
		return held(ctx, file)
	}
	if folder, ok := strings.CutPrefix(l.how, "printing:"); ok {
		return printing(ctx, folder)
	}
	return wait(ctx, takes)
}

func (l *load) doReduce(ctx context.Context, n *job.Node) error {
	in, err := n.Input("records")
	if err != nil {
		return err
	}
	for {
		if _, err := in.Next(ctx); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	n.Executing()
	if l.how == "failing" && n.Info().Index == 1 {
		fmt.Println("record 17 has no price: line 4,711 of prices.csv")
		return errors.New("record 17 has no price")
	}
	return wait(ctx, 2*l.takes)
}

func held(ctx context.Context, file string) error {
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		if err := wait(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

func printing(ctx context.Context, folder string) error {
	for i := 0; ; i++ {
		file := filepath.Join(folder, strconv.Itoa(i))
		if err := held(ctx, file); err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || len(text) == 0 {
			return err
		}
		if _, err := os.Stdout.Write(text); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
