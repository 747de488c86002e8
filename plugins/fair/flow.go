package fair

import "github.com/hamadryad/hamadryad/sdk/scheduler/pooltree"

func (a *assignment) flow(k pooltree.Kind) { a.fill(k) }
