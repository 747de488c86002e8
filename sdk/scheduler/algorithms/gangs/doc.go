// Package gangs starts work that needs several slots at once: a gang, or one group
// of several slots. Free slots come one by one, and smaller work would take each of
// them. So a policy collects: once such a bundle was passed over for long enough,
// what it needs is kept for it.
//
//	var kept gangs.Kept // of one round
//	if _, ok := v.Fit(b); !ok && gangs.Overdue(v, b, 30*time.Second) && v.FitEver(b) {
//		kept.For(v, b)
//	}
//	for ... { // the other work
//		if kept.Keeps(kind) {
//			continue
//		}
//	}
//
// The package keeps nothing between rounds: what it says follows from the view, so
// that a policy that was restarted decides the same.
package gangs
