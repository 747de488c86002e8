package scheduler

// Proofs of a Principal. An authenticator may give others, such as "hmac-sha256".
const (
	// Unproven is the Proof of a principal whose name nobody checked.
	Unproven = "unproven"
)

// Principal is who asks: a name and the proof there is for it.
type Principal struct {
	Name  string
	Proof string // how the name was proved, for people; Unproven: it was not
	Role  string // what a policy's authenticator says of the name, such as "admin"; "" without an authenticator
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

// Bounds of what an authenticator is asked, and of what it says.
const (
	RequestBytesMax = 64 << 10 // of a request: its path, query, header values and body together
	PageBytesMax    = 4 << 20  // of an Answer's body
)

// The properties with which a client signs a job, for an authenticator, in our words and in Hadoop's.
// They never become properties of the job: the manager takes them off each submission.
const (
	ProofTimestamp       = "hamadryad.job.timestamp" // milliseconds since 1970
	ProofNonce           = "hamadryad.job.nonce"     // tells submissions of one millisecond apart; may be left out
	ProofSignature       = "hamadryad.job.signature"
	ProofTimestampHadoop = "mapred.job.timestamp"
	ProofSignatureHadoop = "mapred.job.signature"
)

// IsProof says whether a job's property is there to prove who submits it.
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
	// Principal is who it is as far as the manager knows: Unproven, or a name that the
	// manager has proved itself.
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

// Proof is an authenticator's verdict: the identity and the purpose, or the answer to send instead.
type Proof struct {
	Principal Principal
	// Query is the request's without what proved it: no signature and no timestamp gets
	// into the log, or to a policy.
	Query string
	// Changes says that the request changes something. Then it becomes a Requested event,
	// which is logged. Another one is given to the policy's Page. By GET and HEAD over HTTP
	// nothing is changed, unless the request has a header Authorization: a page of another
	// site can have a browser send them.
	Changes bool
	// Denied, when not nil, is the answer to who was not let in. Of a submission its body
	// is the message, in plain text.
	Denied *Answer
}

// PageAsked asks a policy for one of its own pages. It is not logged.
type PageAsked struct {
	At        Time // of the asking, which may be before the last round's
	Principal Principal
	Method    string // GET, HEAD or POST
	Path      string // below the policy's own root, starting with /
	Query     string // behind the question mark, encoded as it came
	Accept    string // the header of that name
	Body      []byte
}

// PageHandler is a TaskScheduler that answers pages beside the log, as Explain does. It is asked
// as the policy's own calls are, one at a time, between two rounds: it changes nothing, and takes
// well under a millisecond; what takes longer is left to Answer.Later. The manager gives all pages and
// explanations together a tenth of the time at most. An error is the policy's fault, and
// becomes status 500.
type PageHandler interface {
	// Page answers. The answer's Request is not looked at.
	Page(PageAsked) (Answer, error)
}
