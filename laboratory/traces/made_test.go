package traces

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/laboratory/workload"
)

var write = flag.Bool("write", false, "write the made traces anew")

// The traces that stand for archives have the bytes that their models give.
func TestMadeTraces(t *testing.T) {
	for name, made := range map[string][]byte{Lublin: lublin(), Alibaba: alibaba()} {
		if *write {
			var b bytes.Buffer
			z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
			if _, err := z.Write(made); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, err := files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := io.ReadAll(z); err != nil || !bytes.Equal(kept, made) {
			t.Errorf("%s has other bytes than its model gives (error %v); -write writes them", name, err)
		}
	}
}

// gammas are the parameters of a gamma distribution.
type gammas struct{ shape, scale float64 }

// draw draws by the method of Marsaglia and Tsang; the shape is at least 1.
func (g gammas) draw(r *workload.Rand) float64 {
	d := g.shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.Normal()
		v := 1 + c*x
		if v = v * v * v; v > 0 && math.Log(1-r.Unit()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v * g.scale
		}
	}
}

// density is in proportion to the density of the distribution.
func (g gammas) density(x float64) float64 {
	return math.Exp((g.shape-1)*math.Log(x/(g.shape*g.scale)) + g.shape - x/g.scale)
}

// lublinType are the parameters of a type of jobs in "The workload on parallel supercomputers:
// modeling the characteristics of rigid jobs" (Lublin and Feitelson, 2003). Its appendix has them.
type lublinType struct {
	serial, powers              float64 // shares of jobs on one processor, and on a power of two
	low, middle, high, belowMid float64 // logarithms of processors, in two stages
	short, long                 gammas  // logarithms of run times
	shortSlope, shortShare      float64 // share of short jobs, by processors
	gap, hours                  gammas  // logarithm of times between arrivals, and half hours of the day
}

var lublinTypes = []lublinType{
	{0.1541, 0.625, 1, 3, 5.5, 0.705, gammas{3.8351, 0.6605}, gammas{7.073, 0.6856}, -0.0118, 0.9156, gammas{6.5510 * 0.9797, 0.6621}, gammas{8.9186, 3.6680}},
	{0.2927, 0.6686, 1.2, 5, 7, 0.875, gammas{6.57, 0.823}, gammas{639.1, 0.0156}, -0.003, 0.6986, gammas{6.0415 * 1.0519, 0.8531}, gammas{6.1271, 5.2740}},
}

// Bounds of the model, of logarithms of seconds, and its day.
const (
	lublinGapMax, lublinRunMax = 13, 12
	halfHours, firstHalfHour   = 48, 11
)

func (l *lublinType) processors(r *workload.Rand) int {
	kind := r.Unit()
	if kind <= l.serial {
		return 1
	}
	from, to := l.middle, l.high
	if r.Unit() <= l.belowMid {
		from, to = l.low, l.middle
	}
	power := from + (to-from)*r.Unit()
	if kind <= l.serial+l.powers {
		power = math.Floor(power + 0.5)
	}
	return int(math.Pow(2, power) + 0.5)
}

func (l *lublinType) runs(processors int, r *workload.Rand) int {
	for {
		g := l.long
		if r.Unit() <= l.shortSlope*float64(processors)+l.shortShare {
			g = l.short
		}
		if x := g.draw(r); x <= lublinRunMax {
			return int(math.Exp(x))
		}
	}
}

// weights are how many jobs come in each half hour of the day, relative to the mean.
func (l *lublinType) weights() (w [halfHours]float64) {
	sum := 0.0
	for i := firstHalfHour; i < firstHalfHour+halfHours; i++ {
		const steps = 16
		for k := range steps {
			w[i%halfHours] += l.hours.density(float64(i) + 0.5 + (float64(k)+0.5)/steps)
		}
		sum += w[i%halfHours]
	}
	for i := range w {
		w[i] *= halfHours / sum
	}
	return w
}

// arrivals are so many times in seconds from midnight.
func (l *lublinType) arrivals(n int, r *workload.Rand) (all []int) {
	w, at := l.weights(), 0.0 // in half hours
	for len(all) < n {
		gap := l.gap.draw(r)
		if gap > lublinGapMax {
			continue
		}
		for rest := math.Exp(gap) / 1800; ; {
			bucket := math.Floor(at)
			weight := w[int(bucket)%halfHours]
			if room := (bucket + 1 - at) * weight; rest > room {
				rest, at = rest-room, bucket+1
				continue
			}
			at += rest / weight
			break
		}
		all = append(all, int(at*1800))
	}
	return all
}

// lublin is a workload of the model on 128 processors, in the Standard Workload Format. The model
// has no users: twenty are drawn by Zipf's law.
func lublin() []byte {
	const jobs, users = 1000, 20
	type job struct{ at, processors, runs, user, queue int }
	var all []job
	names := workload.Zipf(users, 1)
	for queue := range lublinTypes {
		l, r := &lublinTypes[queue], workload.NewRand(2003, uint64(queue))
		for _, at := range l.arrivals(jobs, r) {
			n := l.processors(r)
			all = append(all, job{at, n, l.runs(n, r), names.Draw(r) + 1, queue})
		}
	}
	slices.SortStableFunc(all, func(a, b job) int { return a.at - b.at })
	var b bytes.Buffer
	fmt.Fprintf(&b, "; Version: 2.2\n; Note: made by the model of Lublin and Feitelson (2003), not recorded\n; MaxJobs: %d\n; MaxProcs: 128\n; Queues: 0 interactive, 1 batch\n", jobs)
	for i, j := range all[:jobs] {
		fmt.Fprintf(&b, "%d %d -1 %d %d -1 -1 -1 -1 -1 1 %d -1 -1 %d -1 -1 -1\n", i+1, j.at, j.runs, j.processors, j.user, j.queue)
	}
	return b.Bytes()
}

// alibaba is a day in the columns of batch_task.csv of cluster-trace-v2018. Its 4,034 machines had
// 4.2 million jobs in 8 days, with 14.3 million tasks and 1.35 billion instances: here are a
// two-thousandth of them, for 200 slots. Numbers of tasks and instances follow Zipf's law with
// these means, after "Characterizing Co-located Workloads in Alibaba Cloud Datacenters" (Jiang and
// others, 2020). Jobs come in a cycle of a day, and tasks are trees. How strong the cycle is, and
// the times of instances, are ours.
func alibaba() []byte {
	const jobs, day = 263, 86_400
	type job struct {
		at   int
		text string
	}
	var all []job
	r := workload.NewRand(2018)
	for len(all) < jobs {
		at := r.Unit()
		if r.Unit() > (1+math.Sin(2*math.Pi*at)/2)/1.5 {
			continue
		}
		name := fmt.Sprintf("j_%d", len(all)+1)
		all = append(all, job{int(at * day), alibabaJob(name, int(at*day), r)})
	}
	slices.SortStableFunc(all, func(a, b job) int { return a.at - b.at })
	var b bytes.Buffer
	for _, j := range all {
		b.WriteString(j.text)
	}
	return b.Bytes()
}

// alibabaJob are the rows of a job: each task but the first reads from one before it.
func alibabaJob(name string, at int, r *workload.Rand) string {
	const tasksMax, instancesMax = 31, 30_000
	var b strings.Builder
	ends := []int{at}
	for task := range int(r.ParetoBelow(1, tasksMax, 0.9) + 0.5) {
		begins, names := at, "M1"
		if task > 0 {
			from := max(task-1-r.Below(3), 0)
			begins, names = ends[from+1], fmt.Sprintf("R%d_%d", task+1, from+1)
		}
		ends = append(ends, begins+max(int(40*r.LogNormal(1.2)), 1))
		cores := 100
		if r.Below(10) == 0 {
			cores = 200
		}
		fmt.Fprintf(&b, "%s,%d,%s,1,Terminated,%d,%d,%d,0.3\n", names, int(r.ParetoBelow(1, instancesMax, 0.6)), name, begins, ends[task+1], cores)
	}
	return b.String()
}
