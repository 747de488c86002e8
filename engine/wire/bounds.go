package wire

// Bounds that both sides of a connection hold to. The event log takes records of 64
// MiB at most, so nothing that becomes one input of the core is larger than these.
const (
	// LauncherMessageBytesMax is the largest message of a launcher, and the largest
	// that a manager reads.
	LauncherMessageBytesMax = 48 << 20
	// ReportBytesMax is the largest report. A launcher makes a failure of an end that
	// would be larger.
	ReportBytesMax = 32 << 20
	// GraphInlineBytesMax is the largest graph within a submission. A larger one is sent
	// as a blob before, and named by its hash.
	GraphInlineBytesMax = 1 << 20
	// GraphBytesMax is the largest graph of all, before compression.
	GraphBytesMax = 256 << 20
)
