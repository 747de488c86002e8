package history

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// jobKind is a program with an oracle.
type jobKind struct {
	name string
	// prepare writes the input and returns the expected output. If ordered is false, the output's
	// parts are sorted by line.
	prepare func(r *rand.Rand, folder string, size int) (want string, err error)
	command func(pace time.Duration, size int, in, out string) []string
	ordered bool
	says    string // the client's output when its job ends as expected; {size} stands for the size
	fails   bool   // the program itself is at fault
	env     string // variable that names a folder of channel files
}

// jobKinds are all kinds.
var jobKinds = []jobKind{
	{name: "words", prepare: wordLines, command: ofPaced("words")},
	{name: "words, channels in a folder", prepare: wordLines, command: ofPaced("words"), env: "HAMADRYAD_CHANNELS"},
	{name: "order", prepare: orderLines, command: ofPaced("order"), ordered: true},
	{name: "join", prepare: joinLines, command: ofPaced("join")},
	{name: "graph-tcp", prepare: lengthLines, command: ofPaced("graph-tcp"), ordered: true},
	{name: "graph-file", prepare: lengthLines, command: ofPaced("graph-file"), ordered: true},
	{name: "streaming", prepare: wordLines, command: streaming},
	{name: "tasks", prepare: nothing, command: countedTasks("tasks"), says: "tasks run {size}\n"},
	{name: "talk", prepare: nothing, command: countedTasks("talk"), says: "tasks run {size}\n"},
	{name: "broken", prepare: rottenLines, command: ofPaced("broken"), fails: true, says: "is no tree"},
}

func ofPaced(name string) func(pace time.Duration, size int, in, out string) []string {
	return func(pace time.Duration, _ int, in, out string) []string {
		return []string{"paced", name, pace.String(), in, out}
	}
}

func countedTasks(name string) func(pace time.Duration, size int, in, out string) []string {
	return func(pace time.Duration, size int, _, _ string) []string {
		return []string{"paced", name, (4 * pace).String(), strconv.Itoa(size)}
	}
}

// streaming is a word count by awk, which pauses every ten lines.
func streaming(pace time.Duration, _ int, in, out string) []string {
	return []string{
		"hamadryad-streaming", "-D", "mapreduce.input.fileinputformat.split.maxsize=2000", "-numReduceTasks", "2", "-input", in, "-output", out,
		"-mapper", fmt.Sprintf(`awk '{ for (i = 1; i <= NF; i++) print $i "\t1" } NR %% 10 == 0 { system("sleep %.3f") }'`, (10 * pace).Seconds()),
		"-reducer", `awk -F'\t' '$1 != w { if (NR > 1) print w "\t" n; w = $1; n = 0 } { n += $2 } END { if (NR > 0) print w "\t" n }'`,
	}
}

func nothing(*rand.Rand, string, int) (string, error) { return "", nil }

// lines draws lines of words.
func lines(r *rand.Rand, size int) []string {
	var all []string
	for range size {
		words := make([]string, 1+r.IntN(12))
		for i := range words {
			words[i] = fmt.Sprintf("tree%d", r.IntN(300))
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

func writeLines(path string, lines []string) error {
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// counted is the count of each key in a text form, in order of the lines.
func counted[K comparable](counts map[K]int) string {
	var all []string
	for k, n := range counts {
		all = append(all, fmt.Sprintf("%v\t%d\n", k, n))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

func wordLines(r *rand.Rand, folder string, size int) (string, error) {
	in, counts := lines(r, size), map[string]int{}
	for _, line := range in {
		for _, w := range strings.Fields(line) {
			counts[w]++
		}
	}
	return counted(counts), writeLines(filepath.Join(folder, "text"), in)
}

func orderLines(r *rand.Rand, folder string, size int) (string, error) {
	in, counts := lines(r, size), map[string]int{}
	for i := range in {
		in[i] = fmt.Sprintf("%05d %s", r.IntN(size), in[i])
		counts[in[i]]++
	}
	return counted(counts), writeLines(filepath.Join(folder, "text"), in)
}

func joinLines(r *rand.Rand, folder string, size int) (string, error) {
	var left, right, want []string
	for i := range size {
		left = append(left, fmt.Sprintf("k%d left%d", i, r.IntN(1000)))
		right = append(right, fmt.Sprintf("k%d right%d", r.IntN(2*size), i))
	}
	for _, line := range right {
		key, value, _ := strings.Cut(line, " ")
		if i, _ := strconv.Atoi(key[1:]); i < size {
			_, other, _ := strings.Cut(left[i], " ")
			want = append(want, fmt.Sprintf("%s\t%s %s\n", key, other, value))
		}
	}
	slices.Sort(want)
	return strings.Join(want, ""), errors.Join(writeLines(filepath.Join(folder, "left"), left), writeLines(filepath.Join(folder, "right"), right))
}

func lengthLines(r *rand.Rand, folder string, size int) (string, error) {
	in, counts := lines(r, size), map[int]int{}
	for _, line := range in {
		counts[len(line)]++
	}
	var want strings.Builder
	for _, length := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&want, "%d\t%d\n", length, counts[length])
	}
	return want.String(), writeLines(filepath.Join(folder, "text"), in)
}

func rottenLines(r *rand.Rand, folder string, size int) (string, error) {
	in := lines(r, size)
	in[r.IntN(size)] += " rotten"
	return "", writeLines(filepath.Join(folder, "text"), in)
}

// submitted is a job of a history that is played.
type submitted struct {
	plan   jobPlan
	kind   jobKind
	folder string // of its input and output
	want   string
	client *processes.Process
	// Faults that were done to it, by the player's lock.
	killed, clientKilled bool
}

func (j *submitted) out() string { return filepath.Join(j.folder, "out") }

// newJob writes a job's input.
func newJob(seed uint64, index int, plan jobPlan, folder string) (*submitted, error) {
	i := slices.IndexFunc(jobKinds, func(k jobKind) bool { return k.name == plan.kind })
	j := &submitted{plan: plan, kind: jobKinds[i], folder: folder}
	if err := errors.Join(os.MkdirAll(filepath.Join(folder, "in"), 0o755), os.Mkdir(filepath.Join(folder, "channels"), 0o755)); err != nil {
		return nil, err
	}
	var err error
	j.want, err = j.kind.prepare(rand.New(rand.NewPCG(seed, uint64(index))), filepath.Join(folder, "in"), plan.size)
	return j, err
}

// command is the client's command line; its program is one of the project's.
func (j *submitted) command() []string {
	return j.kind.command(j.plan.pace, j.plan.size, filepath.Join(j.folder, "in"), j.out())
}

// environ is the additional environment of the client.
func (j *submitted) environ() []string {
	if j.kind.env == "" {
		return nil
	}
	return []string{j.kind.env + "=" + filepath.Join(j.folder, "channels")}
}

// jobNumber finds a job's number in what its client prints.
var jobNumber = regexp.MustCompile(`\bjob-(\d+)\b`)

// id is the job's number as its client printed it, or 0.
func (j *submitted) id() uint64 {
	if j.client == nil {
		return 0
	}
	m := jobNumber.FindStringSubmatch(j.client.Log.String())
	if m == nil {
		return 0
	}
	id, _ := strconv.ParseUint(m[1], 10, 64)
	return id
}

// output returns what is wrong with the job's output; "" if it is exact. there is false if there is
// no output.
func (j *submitted) output() (there bool, wrong string) {
	if _, err := os.Stat(j.out()); errors.Is(err, fs.ErrNotExist) {
		return false, ""
	}
	if j.kind.fails {
		return true, "a job that can't succeed has an output"
	}
	if _, err := os.Stat(filepath.Join(j.out(), "_SUCCESS")); err != nil {
		return true, fmt.Sprintf("the output is not whole: %v", err)
	}
	parts, err := jobtest.Output(j.out())
	if err != nil {
		return true, err.Error()
	}
	got := strings.Join(parts, "")
	if !j.kind.ordered {
		got = strings.Join(slices.Sorted(strings.Lines(got)), "")
	}
	if got != j.want {
		return true, fmt.Sprintf("the output is wrong:\ngot\n%s\nwant\n%s", got, j.want)
	}
	return true, ""
}

// says reports whether the client printed the expected output at the end of its job.
func (j *submitted) says() bool {
	printed := strings.Join(strings.FieldsFunc(j.client.Log.String(), func(r rune) bool { return r == ' ' }), " ")
	return strings.Contains(printed, strings.ReplaceAll(j.kind.says, "{size}", strconv.Itoa(j.plan.size)))
}
