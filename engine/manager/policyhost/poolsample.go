package policyhost

import (
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
)

// shareMax bounds a fair share that is sampled, in slots: a week of them sums up.
const shareMax = 1e9

// Sample is what the policy's last word tells of pools now, each once, with the slots of all kinds: of all
// pools where jobs name their pools so, else of those without a parent. A word that is older than
// StaleAfter tells nothing, nor does one by which more is held than the slots that there are now: launchers went since.
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

// held is how many slots all pools hold: what is in others is held by them too.
func (v *PoolView) held() (slots uint64) {
	for i := range v.Pools {
		if p := &v.Pools[i]; p.Parent == "" {
			slots += uint64(max(p.Running, 0))
		}
	}
	return slots
}
