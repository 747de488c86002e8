package step

// What a piece of long work counts for in Settings.StepWork: about as many
// microseconds.
const (
	WorkOpen     = 3 // to offer a bundle of a job that starts
	WorkClose    = 1 // to look at a bundle of a job that ends
	WorkStop     = 4 // to stop an attempt, or to send a launcher the end of a job
	WorkDecide   = 4 // to apply a decision
	WorkTimer    = 4
	WorkSnapshot = 2 // to add a bundle, a job or a launcher to a snapshot
)
