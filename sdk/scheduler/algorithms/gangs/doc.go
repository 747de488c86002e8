// Package gangs starts large work: gangs, and groups of several slots. Free slots come one by one,
// and smaller work would take each of them. So a policy holds slots back: once a large bundle was
// passed over for long enough, free slots that it needs are kept for it.
//
//	var kept gangs.Holdback // of one round
//	if _, ok := v.Fit(b); !ok && kept.Collect(v, b, 30*time.Second) {
//		// the other work of the round does not find what is kept
//	}
//	kept.Release(v) // before slots are taken back
//
// The nouns are a bundle that is overdue, and the Holdback of a round. Slots are kept only on
// launchers where the bundle may run, and only as many as it needs there. All others stay free.
//
// The package keeps nothing between rounds: its answers follow from the view, so that a policy
// decides the same after a restart.
package gangs
