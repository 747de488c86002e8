package launcher_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// definitions are the jobs of the test program.
var definitions = append(attacks, []job.Definition{
	single("noop", func(context.Context, *job.Node) error { return nil }),
	single("tickets", showTickets),
	{Name: "frozen", Build: frozen},
	single("pid", func(_ context.Context, n *job.Node) error {
		n.Count("pid", int64(os.Getpid()))
		n.Count("memory", n.Info().Memory)
		return nil
	}),
	single("variables", func(_ context.Context, n *job.Node) error {
		countVariables(n.Count)
		return nil
	}),
	single("panic", func(_ context.Context, n *job.Node) error {
		n.At("/data/input.txt", 4711)
		explode(nil)
		return nil
	}),
	single("error", func(_ context.Context, n *job.Node) error {
		n.At("/data/input.txt", 12)
		return errors.New("the number is odd")
	}),
	single("exit", func(context.Context, *job.Node) error {
		fmt.Println("goodbye from the program")
		os.Exit(3)
		return nil
	}),
	single("hang", func(context.Context, *job.Node) error {
		fmt.Println("hanging, pid", os.Getpid())
		fmt.Println("hangs", os.Getpid())
		select {}
	}),
	single("polite", func(ctx context.Context, n *job.Node) error {
		fmt.Println("waiting to be stopped")
		<-n.Stopping()
		if left := time.Until(n.StopDeadline()); left <= 0 || left > time.Minute {
			return fmt.Errorf("deadline in %v", left)
		}
		n.Count("stopped", 1)
		return nil
	}),
	{Name: "slow to build", Build: func(g *job.Graph, _ []string) error {
		if os.Getenv("GOMEMLIMIT") != "" { // in a worker, not at submission
			<-time.After(leaseShort + leaseShort/2) // a builder, or a plan, may take that long
		}
		g.Stage("s", 1, func(context.Context, *job.Node) error { return nil })
		return nil
	}},
	single("family", family),
	single("until", func(ctx context.Context, n *job.Node) error {
		file := n.Task()[0].Path
		for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
		return os.Rename(file, file+".over")
	}),
	single("ticking", func(ctx context.Context, n *job.Node) error {
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for i := 0; ; i++ {
			fmt.Println("tick", i)
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}),
	single("eat", func(ctx context.Context, n *job.Node) error {
		size, err := strconv.Atoi(n.Task()[0].Path)
		if err != nil {
			return err
		}
		if n.Info().Index > 0 {
			size = 1
		}
		var held [][]byte
		for range size {
			piece := make([]byte, 1<<20)
			for i := range piece {
				piece[i] = byte(i)
			}
			held = append(held, piece)
		}
		time.Sleep(time.Second) // so that several measurements see it
		n.Count("held", int64(len(held)))
		return nil
	}),
	single("hoard", hoard),
	single("loud", func(ctx context.Context, n *job.Node) error {
		for i := 0; ctx.Err() == nil; i++ {
			fmt.Println("line", i, "of the loud")
		}
		return ctx.Err()
	}),
	single("garble", func(context.Context, *job.Node) error {
		if _, err := os.NewFile(3, "launcher").Write([]byte("\x05\x00\x00\x00ABCDE and more")); err != nil {
			return err
		}
		select {}
	}),
	single("shout", func(_ context.Context, n *job.Node) error {
		size, err := strconv.Atoi(n.Task()[0].Path)
		if err != nil {
			return err
		}
		fmt.Println("the beginning")
		line := strings.Repeat("x", 99) + "\n"
		for written := 0; written < size; written += len(line) {
			fmt.Print(line)
		}
		n.Log().Info("the end", "of", "it")
		return nil
	}),
	{Name: "moody", Build: func(g *job.Graph, args []string) error {
		nodes := 1
		if os.Getenv("HAMADRYAD_DATA") != "" { // set in workers only
			nodes = 2
		}
		g.Stage("s", nodes, func(context.Context, *job.Node) error { return nil })
		return nil
	}},
	{Name: "relay", Build: relay},
	{Name: "output", Build: func(g *job.Graph, args []string) error {
		out := g.Output(args[0])
		g.Stage("write", 2, func(ctx context.Context, n *job.Node) error {
			f, err := n.Create(ctx, out, fmt.Sprintf("deep/part-%d", n.Info().Index))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(f, "from", n.Info().Index); err != nil {
				return err
			}
			return f.Close()
		})
		return nil
	}},
	{Name: "fill", Build: func(g *job.Graph, args []string) error {
		from := g.Stage("from", 1, func(ctx context.Context, n *job.Node) error {
			out, err := n.Output("o")
			if err != nil {
				return err
			}
			noise := make([]byte, 64<<10)
			state := uint64(88172645463325252)
			for range 1024 {
				for i := 0; i+8 <= len(noise); i += 8 {
					state ^= state << 13
					state ^= state >> 7
					state ^= state << 17
					binary.LittleEndian.PutUint64(noise[i:], state)
				}
				if err := out.Write(ctx, 0, noise); err != nil {
					return err
				}
			}
			return nil
		})
		to := g.Stage("to", 1, sumProgram)
		g.OneToOne(from.Out("o"), to.In("in"), job.Channel{Kind: job.File, Codec: job.NoCodec})
		return nil
	}},
	{Name: "command", Build: commandJob},
	{Name: "script", Build: func(g *job.Graph, args []string) error {
		g.CommandStage("s", 1, job.Command{Args: []string{"./script.sh"}, Files: args})
		return nil
	}},
	{Name: "commit", Build: func(g *job.Graph, args []string) error {
		g.Stage("s", 1, func(ctx context.Context, n *job.Node) error { return n.AskCommit(ctx) })
		return nil
	}},
	{Name: "leftover", Build: leftover},
}...)

// single is a job of one stage with four nodes.
func single(name string, program job.Program) job.Definition {
	return job.Definition{Name: name, Build: func(g *job.Graph, args []string) error {
		s := g.Stage("s", 4, program)
		if len(args) > 0 {
			task := job.Task{{Path: args[0]}}
			s.Read([]job.Task{task, task, task, task})
		}
		return nil
	}}
}

// hoard holds a number of MiB, and another number once a file exists; its task gives both, and the
// file.
func hoard(_ context.Context, n *job.Node) error {
	task := strings.SplitN(n.Task()[0].Path, ",", 3)
	var held [][]byte
	hold := func(size string) error {
		most, err := strconv.Atoi(size)
		for len(held) < most {
			held = append(held, bytes.Repeat([]byte{1}, 1<<20))
		}
		return err
	}
	if err := hold(task[0]); err != nil {
		return err
	}
	fmt.Println("holds it")
	for {
		if _, err := os.Stat(task[2]); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := hold(task[1]); err != nil {
		return err
	}
	time.Sleep(time.Second) // so that several measurements see it
	n.Count("held", int64(len(held)))
	return nil
}

//go:noinline
func explode(m map[string]int) { m["x"] = 1 }

// family starts a child, and a grandchild in a session of its own, and waits.
func family(ctx context.Context, n *job.Node) error {
	cmd := exec.Command("setsid", "sh", "-c", "echo grandchild $$; exec sleep 1000")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	child := exec.Command("sh", "-c", "sleep 1000 & echo child $$; wait")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Println("worker", os.Getpid())
	select {}
}

// relay is a chain of numbers through one kind of channel: args are the kind,
// the numbers of writers and readers, and how many numbers each writer writes.
func relay(g *job.Graph, args []string) error {
	kinds := map[string]job.ChannelKind{"file": job.File, "tcp": job.TCP, "shm": job.SHM}
	writers, _ := strconv.Atoi(args[1])
	readers, _ := strconv.Atoi(args[2])
	count, _ := strconv.Atoi(args[3])
	store := ""
	if len(args) > 4 {
		store = args[4]
	}
	from := g.Stage("from", writers, func(ctx context.Context, n *job.Node) error {
		out, err := n.Output("o")
		if err != nil {
			return err
		}
		var record [8]byte
		for i := range count {
			v := uint64(n.Info().Index*count + i)
			binary.BigEndian.PutUint64(record[:], v)
			if err := out.Write(ctx, int(v%uint64(out.Partitions())), record[:]); err != nil {
				return err
			}
		}
		return nil
	})
	to := g.Stage("to", readers, sumProgram).Shuffles()
	g.AllToAll(from.Out("o"), to.In("in"), job.Channel{Kind: kinds[args[0]], Store: store})
	return nil
}

// sumProgram adds up the numbers that it reads.
func sumProgram(ctx context.Context, n *job.Node) error {
	in, err := n.Input("in")
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		b, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if first {
			fmt.Println("reading")
		}
		for r := range b.All() {
			n.Count("records", 1)
			n.Count("sum", int64(binary.BigEndian.Uint64(r)))
		}
	}
}

// commandJob runs a command between a node that writes lines and one that counts
// records: args are the framing and the command.
func commandJob(g *job.Graph, args []string) error {
	framing := job.Lines
	if args[0] == "prefixed" {
		framing = job.Prefixed
	}
	lines := g.Stage("lines", 1, func(ctx context.Context, n *job.Node) error {
		out, err := n.Output("o")
		if err != nil {
			return err
		}
		for i := range 10_000 {
			if err := out.Write(ctx, 0, fmt.Appendf(nil, "line %d", i)); err != nil {
				return err
			}
		}
		return nil
	})
	run := g.CommandStage("run", 1, job.Command{Args: args[1:], Framing: framing, Env: []string{"GREETING=hello"}, Grace: 2 * time.Second})
	count := g.Stage("count", 1, func(ctx context.Context, n *job.Node) error {
		in, err := n.Input("in")
		if err != nil {
			return err
		}
		for {
			b, err := in.Next(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for r := range b.All() {
				n.Count("records", 1)
				n.Count("bytes", int64(len(r)))
			}
		}
	})
	g.OneToOne(lines.Out("o"), run.In("in"), job.Channel{Kind: job.TCP})
	g.OneToOne(run.Out("out"), count.In("in"), job.Channel{Kind: job.TCP})
	return nil
}

// leftover leaves a goroutine behind that keeps writing after the node returned.
func leftover(g *job.Graph, _ []string) error {
	from := g.Stage("from", 1, func(ctx context.Context, n *job.Node) error {
		out, err := n.Output("o")
		if err != nil {
			return err
		}
		wrote := make(chan struct{})
		go func() {
			for i := 0; ; i++ {
				if err := out.Write(context.Background(), 0, []byte("\x00\x00\x00\x00\x00\x00\x00\x01")); err != nil {
					fmt.Println("the write failed:", err)
					return
				}
				if i == 0 {
					close(wrote)
				}
			}
		}()
		<-wrote
		return nil
	})
	to := g.Stage("to", 1, sumProgram)
	g.OneToOne(from.Out("o"), to.In("in"), job.Channel{Kind: job.SHM})
	return nil
}
