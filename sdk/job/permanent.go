package job

import "errors"

// ErrPermanent is what errors of Permanent match.
var ErrPermanent = errors.New("another attempt can't mend this")

// Permanent marks an error of a program that another attempt would end with too,
// wherever it runs, such as a record larger than its task's memory allows. An attempt
// that ends with it, or with an error that wraps it, fails its job at once; after
// other errors and after a panic the group is tried again. The text stays as it is;
// nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

type permanent struct{ error }

func (p permanent) Unwrap() error        { return p.error }
func (p permanent) Is(target error) bool { return target == ErrPermanent }
