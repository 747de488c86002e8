package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "github.com/hamadryad/hamadryad/hdfs" // hdfs://
	"github.com/hamadryad/hamadryad/internal/minihdfs"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

const (
	hdfsBlock   = 64 << 20 // a task's split is a block
	hdfsStreams = 4        // of the rows with several
)

// hdfsBench is a small HDFS for measurements.
type hdfsBench struct {
	*bench
	small *minihdfs.Cluster
}

// onHdfs runs benchmarks on a separate HDFS with one replica of each block.
func onHdfs(run func(context.Context, *hdfsBench) error) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		kit, err := minihdfs.Prepare(ctx, os.Stderr)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(b.data, 0o755); err != nil {
			return err
		}
		folder, done, err := b.folder()
		if err != nil {
			return err
		}
		defer done()
		small, err := minihdfs.Start(ctx, kit, minihdfs.Options{Replication: 1, BlockSize: hdfsBlock, Folder: folder})
		if err != nil {
			return err
		}
		// The programs find it by the variable. This process names it, because its store reads the
		// configuration once and each family has its own HDFS.
		if err := os.Setenv("HADOOP_CONF_DIR", small.ConfDir()); err != nil {
			return errors.Join(err, small.Stop())
		}
		return errors.Join(run(ctx, &hdfsBench{b, small}), small.Stop())
	}
}

// hdfsReads and hdfsWrites compare one stream and four, in this process, with as many runs of
// Hadoop's own client on the same files. The client's times include the start of Java.
func hdfsReads(ctx context.Context, h *hdfsBench) error {
	return h.rates(ctx, "hdfs-read-", h.read, h.cat, "hdfs dfs -cat")
}

func hdfsWrites(ctx context.Context, h *hdfsBench) error {
	return h.rates(ctx, "hdfs-write-", h.write, h.put, "hdfs dfs -put")
}

// stream moves one of the files: in is its local copy, i its number.
type stream func(ctx context.Context, in string, i int) error

func (h *hdfsBench) rates(ctx context.Context, row string, ours, theirs stream, against string) error {
	in, err := h.text(ctx, gb/hdfsStreams)
	if err != nil {
		return err
	}
	for i := range hdfsStreams {
		if _, err := h.small.Run(ctx, "dfs", "-put", in, fmt.Sprint("/in", i)); err != nil {
			return err
		}
	}
	for _, n := range []int{1, hdfsStreams} {
		var rates, base []float64
		for range h.runs {
			a, err := h.rate(ctx, n, in, ours)
			if err != nil {
				return err
			}
			b, err := h.rate(ctx, n, in, theirs)
			if err != nil {
				return err
			}
			rates, base = append(rates, a), append(base, b)
		}
		if err := h.out.add(row+strconv.Itoa(n), "MB/s", rates, base, against); err != nil {
			return err
		}
	}
	return nil
}

// rate is the throughput of n streams together, MB/s.
func (h *hdfsBench) rate(ctx context.Context, n int, in string, move stream) (float64, error) {
	start := time.Now()
	if err := inParallel(n, func(i int) error { return move(ctx, in, i) }); err != nil {
		return 0, err
	}
	took := time.Since(start)
	_, err := h.small.Run(ctx, "dfs", "-rm", "-f", "-skipTrash", "/out*")
	return float64(n) * gb / hdfsStreams / mb / took.Seconds(), err
}

func inParallel(n int, run func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = run(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (h *hdfsBench) read(ctx context.Context, _ string, i int) error {
	path := fmt.Sprint(h.small.NameNode(), "/in", i)
	store, err := storage.For(path)
	if err != nil {
		return err
	}
	r, err := store.Open(ctx, path, 0, -1)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}

func (h *hdfsBench) write(ctx context.Context, in string, i int) error {
	path := fmt.Sprint(h.small.NameNode(), "/out", i)
	store, err := storage.For(path)
	if err != nil {
		return err
	}
	from, err := os.Open(in)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := store.Create(ctx, path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(err, to.Abort())
	}
	return to.Commit()
}

func (h *hdfsBench) cat(ctx context.Context, _ string, i int) error {
	cmd := h.small.Command(ctx, "dfs", "-cat", fmt.Sprint("/in", i))
	cmd.Stderr = os.Stderr // no Stdout: it goes to the null device
	return cmd.Run()
}

func (h *hdfsBench) put(ctx context.Context, in string, i int) error {
	_, err := h.small.Run(ctx, "dfs", "-put", in, fmt.Sprint("/out", i))
	return err
}

// hdfsWordCount compares a word count from HDFS to HDFS, by four launchers with the DataNodes' host
// names, with the same from disk to disk.
func hdfsWordCount(ctx context.Context, h *hdfsBench) error {
	in, err := h.text(ctx, gb)
	if err != nil {
		return err
	}
	if _, err := h.handCount(ctx, in); err != nil {
		return err
	}
	if _, err := h.small.Run(ctx, "dfs", "-put", in, "/text"); err != nil {
		return err
	}
	var ours, disk []usage
	shares := make([][]float64, 3)
	for range h.runs {
		u, near, err := h.countOnce(ctx, in)
		if err != nil {
			return err
		}
		d, err := h.countWords(ctx, false, in, h.small.DataNodes(), 1)
		if err != nil {
			return err
		}
		ours, disk = append(ours, u), append(disk, d)
		for level, share := range near {
			shares[level] = append(shares[level], share)
		}
	}
	err = h.out.addTimes("hdfs-wordcount-1gb", ours, disk, "from disk to disk")
	for level, name := range []string{"node-local", "rack-local", "remote"} {
		err = errors.Join(err, h.out.add("hdfs-wordcount-1gb-"+name, "% of maps", shares[level], []float64{100}, "stated: all"))
	}
	return err
}

var localityLine = regexp.MustCompile(`attempts that read files: (\d+) node-local .*, (\d+) rack-local .*, (\d+) remote`)

// countOnce counts words once, compares the output, and returns the percentages of maps by
// locality.
func (h *hdfsBench) countOnce(ctx context.Context, in string) (u usage, near [3]float64, err error) {
	var hosts []string
	for i := range h.small.DataNodes() {
		hosts = append(hosts, minihdfs.Host(i)+"="+minihdfs.Rack(i))
	}
	cmd := exec.CommandContext(ctx, filepath.Join(h.bin, "hamadryad"), "local", "--slots", "1", "--hosts", strings.Join(hosts, ","),
		"--", filepath.Join(h.bin, "wordcount-bytes"), "hdfs:///text", "hdfs:///counts")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopMax
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return u, near, fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	u = usage{took: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	m := localityLine.FindSubmatch(out.Bytes())
	if m == nil {
		return u, near, fmt.Errorf("the job says nothing of locality:\n%s", out.Bytes())
	}
	sum := 0.0
	for i := range near {
		if near[i], err = strconv.ParseFloat(string(m[i+1]), 64); err != nil {
			return u, near, err
		}
		sum += near[i]
	}
	for i := range near {
		near[i] *= 100 / sum
	}
	return u, near, h.sameCounts(ctx, in)
}

// sameCounts fetches the output, compares it and removes it from HDFS.
func (h *hdfsBench) sameCounts(ctx context.Context, in string) error {
	folder, done, err := h.folder()
	if err != nil {
		return err
	}
	defer done()
	if _, err := h.small.Run(ctx, "dfs", "-get", "/counts", folder); err != nil {
		return err
	}
	if _, err := h.small.Run(ctx, "dfs", "-rm", "-r", "-skipTrash", "/counts"); err != nil {
		return err
	}
	return sameLines(filepath.Join(folder, "counts"), in+".counts")
}
