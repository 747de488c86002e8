package pages

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// poolsPage shows the tree of pools with their history.
type poolsPage struct {
	restapi.Pools
	Tree   []poolRow
	Pool   string // the selected pool; "": all
	Span   string // how far back
	Spans  []restapi.GetPoolSeriesParamsSpan
	Parted bool // into kinds of slots
}

// poolRow is a pool in the tree.
type poolRow struct {
	restapi.PoolShare
	Depth  int // at most depthMax
	Parent bool
}

const (
	// lastsAgain is the refresh period of a page with durations: they change with time alone, and
	// cause no event.
	lastsAgain = 5 * time.Second
	// loadAgain is the same for a page with machines' loads.
	loadAgain = 15 * time.Second
	// idleAgain is the same for a page on which only minutes count.
	idleAgain = time.Minute
	// toldMax is how old the policy's last status may be before a page says so: it comes once a
	// second, and at least once a minute if it takes long.
	toldMax = 2 * time.Minute
)

// refreshAfter is often while some pool starves: for how long is shown.
func (p poolsPage) refreshAfter() time.Duration {
	if slices.ContainsFunc(p.Tree, func(r poolRow) bool { return r.BelowMinimumSince != nil || r.BelowShareSince != nil }) {
		return lastsAgain
	}
	return idleAgain
}

// Old reports whether the policy's last status of its pools is old.
func (p poolsPage) Old() bool { return p.At != nil && time.Since(*p.At) > toldMax }

// depthMax is how far rows are shifted at most.
const depthMax = 8

// spans are the selectable time spans of pools.
var spans = []restapi.GetPoolSeriesParamsSpan{restapi.GetPoolSeriesParamsSpanN10M, restapi.GetPoolSeriesParamsSpanN4H, restapi.GetPoolSeriesParamsSpanN7D}

func (s *Server) pools(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	page := poolsPage{Pool: q.Get("pool"), Span: string(spans[0]), Spans: spans}
	if text := q.Get("span"); text != "" {
		if page.Span = text; !restapi.GetPoolSeriesParamsSpan(text).Valid() {
			return "", nil, status.Errorf(codes.InvalidArgument, "%.64q is no time to look back: %s", text, oneOf(spans))
		}
	}
	a, err := s.needs.Shown.GetPools(r.Context(), restapi.GetPoolsRequestObject{})
	if err != nil {
		return "", nil, err
	}
	page.Pools = a.(restapi.GetPools200JSONResponse).Body
	page.Tree = tree(page.Pools.Pools)
	for _, p := range page.Tree {
		page.Parted = page.Parted || p.Kind != page.Tree[0].Kind
	}
	return strings.TrimSpace("Pools " + page.Pool), page, nil
}

// tree puts pools under their parents, in the policy's order, with their depth.
func tree(pools []restapi.PoolShare) []poolRow {
	rows := make([]poolRow, len(pools))
	depth, parents := map[string]int{}, map[string]bool{}
	for i := range pools {
		rows[i].PoolShare = pools[i]
		if up := pools[i].Parent; up != nil {
			rows[i].Depth = min(depth[*up]+1, depthMax)
			parents[*up] = true
		}
		depth[pools[i].Name] = rows[i].Depth
	}
	for i := range rows {
		rows[i].Parent = parents[rows[i].Name]
	}
	return rows
}
