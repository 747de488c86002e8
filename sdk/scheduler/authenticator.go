package scheduler

// Proofs of a Principal. An authenticator may give others, such as "hmac-sha256".
const (
	// Unproven is the Proof of a principal whose name nobody checked.
	Unproven = "unproven"
)

// Principal is a caller: a name and its proof.
type Principal struct {
	Name  string
	Proof string // how the name was proved, for people; Unproven if it was not
	Role  string // the role that a policy's authenticator gives the name, such as "admin"; "" without an authenticator
}

// Purpose is the kind of request whose caller an authenticator must identify.
type Purpose uint8

// The purposes.
const (
	PurposeRequest Purpose = iota + 1 // one of the policy's own pages
	PurposeSubmit                     // a job
)

// String returns the purpose's name.
func (p Purpose) String() string { return name(p, "unknown", "request", "submit") }

// Bounds of an authenticator's input and output.
const (
	RequestBytesMax = 64 << 10 // of a request: its path, query, header values and body together
	PageBytesMax    = 4 << 20  // of an Answer's body
)

// The properties with which a client signs a job, for an authenticator, in our words and in
// Hadoop's. They never become properties of the job: the manager removes them from each submission.
const (
	ProofTimestamp       = "hamadryad.job.timestamp" // milliseconds since 1970
	ProofNonce           = "hamadryad.job.nonce"     // distinguishes submissions of one millisecond; may be left out
	ProofSignature       = "hamadryad.job.signature"
	ProofTimestampHadoop = "mapred.job.timestamp"
	ProofSignatureHadoop = "mapred.job.signature"
)

// IsProof says whether a property of a job serves to authenticate its submitter.
func IsProof(property string) bool {
	switch property {
	case ProofTimestamp, ProofNonce, ProofSignature, ProofTimestampHadoop, ProofSignatureHadoop:
		return true
	}
	return false
}

// Credentials are the input of an authenticator: the claimed identity, and its proof.
type Credentials struct {
	Purpose Purpose
	// Principal is the caller as far as the manager knows: Unproven, or a name that the manager has
	// proved itself.
	Principal Principal
	// Request is the request of PurposeRequest, as it was sent. Its Principal is unset.
	Request PageAsked
	// Authorization is the header of that name; "" when there is none.
	Authorization string
	// Name and Pool are the job's, for PurposeSubmit. Properties are all of its properties, the
	// submitter's proof included.
	Name, Pool string
	Properties []Property
}

// Proof is an authenticator's verdict: the identity and the query, or the answer to send instead.
type Proof struct {
	Principal Principal
	// Query is the request's query without its proof: no signature and no timestamp gets into the
	// log, or to a policy.
	Query string
	// Changes says that the request changes something. Then it becomes a Requested event, which is
	// logged. Other requests go to the policy's Page. GET and HEAD over HTTP change nothing, unless
	// the request has an Authorization header: a page of another site can make a browser send them.
	Changes bool
	// Denied, if not nil, is the answer to a refused caller. For a submission its body is the
	// message, in plain text.
	Denied *Answer
}

// PageAsked asks a policy for one of its own pages. It is not logged.
type PageAsked struct {
	At        Time // of the request, which may be before the last round's
	Principal Principal
	Method    string // GET, HEAD or POST
	Path      string // below the policy's own root, starting with /
	Query     string // after the question mark, encoded as it came
	Accept    string // the header of that name
	Body      []byte
}

// PageHandler is a TaskScheduler that answers pages without the log, as Explain does. Page is
// called like the policy's other methods, one at a time, between two rounds. It must change
// nothing, and take well under a millisecond; longer work belongs into Answer.Later. The manager
// gives all pages and explanations together at most a tenth of the time. An error is the policy's
// fault, and becomes status 500.
type PageHandler interface {
	// Page answers a request. It need not set the answer's Request.
	Page(PageAsked) (Answer, error)
}
