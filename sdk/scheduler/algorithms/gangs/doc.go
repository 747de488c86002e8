// Package gangs starts work that needs several slots at once: a gang, or one group
// of several slots. Free slots come one by one, and smaller work would take each of
// them. So a policy holds slots back: once such a bundle was passed over for long enough,
// what it needs is kept for it.
//
//	var kept gangs.Holdback // of one round
//	if _, ok := v.Fit(b); !ok && gangs.Overdue(v, b, 30*time.Second) && v.FitEver(b) {
//		kept.HoldFor(v, b, 30*time.Second) // the other work does not find what is kept
//	}
//
// Slots are kept only on launchers where the bundle may run, and only as many as it needs
// there. All others stay free for whoever comes next.
//
// The package keeps nothing between rounds: what it says follows from the view, so
// that a policy that was restarted decides the same.
package gangs
