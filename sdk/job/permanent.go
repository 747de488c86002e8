package job

import "errors"

// ErrPermanent is matched by the errors that Permanent returns.
var ErrPermanent = errors.New("another attempt can't mend this")

// Permanent marks an error that every attempt would meet on any node, such as a record larger than
// the task's memory allows. If an attempt returns it, or an error that wraps it, the job fails at
// once. After other errors and panics the group is tried again. The text is unchanged; nil stays
// nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

type permanent struct{ error }

func (p permanent) Unwrap() error        { return p.error }
func (p permanent) Is(target error) bool { return target == ErrPermanent }
