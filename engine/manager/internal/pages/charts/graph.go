package charts

import (
	"html/template"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// Bounds of a graph's drawing.
const (
	// StagesMax is how many stages are drawn one by one. Beyond it failed stages come first, then
	// running ones, then unfinished ones; boxes stand for the others.
	StagesMax = 300
	// GraphBytesMax bounds the size of a drawing. If names make one larger, fewer stages are drawn
	// one by one.
	GraphBytesMax = 300_000
	// tiesPerStage and bendsPerStage bound the lines per stage, and the columns that lines may
	// cross between their ends.
	tiesPerStage, bendsPerStage = 2, 10
)

// Graph draws a job's stages with their progress, in layers from left to right, and their
// connections. A stage is a link to ?stage=NAME. Connections to an unknown stage are left out.
func Graph(g restapi.Graph, stages []restapi.Stage) template.HTML {
	all := stagesOf(g, stages)
	for most := StagesMax; ; most /= 2 {
		b := newBoxes(all, g.Connections, most)
		b.bound(max(1, most*tiesPerStage), most*bendsPerStage)
		if drawn := b.draw(); len(drawn) <= GraphBytesMax || most == 0 {
			return template.HTML(drawn)
		}
	}
}
