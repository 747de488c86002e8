package policyhost

import (
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
)

// shareMax bounds a sampled fair share, in slots: the samples of a week are summed.
const shareMax = 1e9

// Sample is the pools by the policy's last status, each once, with the slots of all kinds: all
// pools if jobs use their full names, else those without a parent. A status older than StaleAfter
// gives none, nor does one whose pools hold more than the current slots: launchers left since.
func (b *PoolCache) Sample(now time.Time, slots uint64) []timeseries.Pool {
	v := b.View()
	if now.Sub(v.At) > StaleAfter || v.held() > slots {
		return nil
	}
	var list []timeseries.Pool
	at, within := map[string]int{}, map[string]uint64{}
	for i := range v.Pools {
		p := &v.Pools[i]
		if !v.AllPools && p.Parent != "" || p.Name == "" {
			continue
		}
		if p.Demand == 0 && p.Running == 0 && p.FairShare == 0 {
			continue
		}
		k, known := at[p.Name]
		if !known {
			k = len(list)
			at[p.Name], list = k, append(list, timeseries.Pool{Name: p.Name, Told: 1})
		}
		if p.Parent != "" {
			within[p.Parent] += uint64(max(p.Running, 0))
		}
		x := &list[k]
		x.Held += uint64(max(p.Running, 0))
		x.Demand += uint64(max(p.Demand, 0))
		x.Share += uint64(math.Round(min(max(p.FairShare, 0), shareMax) * timeseries.ShareUnit))
	}
	for i := range list {
		x := &list[i]
		x.Own = x.Held - min(x.Held, within[x.Name])
	}
	return slices.Clip(list)
}

// held is how many slots all pools hold, each slot counted once: a pool's slots include those of
// the pools in it.
func (v *PoolView) held() (slots uint64) {
	for i := range v.Pools {
		if p := &v.Pools[i]; p.Parent == "" {
			slots += uint64(max(p.Running, 0))
		}
	}
	return slots
}
